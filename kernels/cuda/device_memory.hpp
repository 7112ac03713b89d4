#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"

namespace sluice {

/// Owned memory of the current device, for checks and benchmarks: every call blocks. Filled with 0xff, NaN in every
/// floating-point format, so that unwritten values show.
class DeviceMemory {
public:
    explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
        check_cuda(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
        poison();
    }
    explicit DeviceMemory(std::span<const std::byte> content) : DeviceMemory(content.size()) { set(content); }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() { cudaFree(data_); }

    void poison() {
        check_cuda(cudaMemset(data_, 0xff, bytes_), "cudaMemset");
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    /// Fills the memory with copies of `content`, which is not empty.
    void set(std::span<const std::byte> content) {
        expects(!content.empty() || bytes_ == 0, "device memory: nothing to fill it with");
        std::vector<std::byte> all;
        all.reserve(bytes_);
        while (all.size() < bytes_) {
            const std::span<const std::byte> part = content.first(std::min(content.size(), bytes_ - all.size()));
            all.insert(all.end(), part.begin(), part.end());
        }
        check_cuda(cudaMemcpy(data_, all.data(), bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    [[nodiscard]] std::vector<std::byte> content() const {
        std::vector<std::byte> result(bytes_);
        check_cuda(cudaMemcpy(result.data(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return result;
    }
    template <class T = void>
    [[nodiscard]] T* as() const noexcept {
        return static_cast<T*>(data_);
    }

private:
    std::size_t bytes_;
    void* data_ = nullptr;
};

}  // namespace sluice

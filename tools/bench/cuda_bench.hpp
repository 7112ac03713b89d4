#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "core/cuda_error.hpp"

namespace sluice::bench {

/// Owned device memory, filled with 0xff: NaN in every floating-point format, so that what nobody wrote shows.
class DeviceMemory {
public:
    explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
        check_cuda(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
        poison();
    }
    explicit DeviceMemory(std::span<const std::byte> content) : DeviceMemory(content.size()) {
        check_cuda(cudaMemcpy(data_, content.data(), content.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() { cudaFree(data_); }

    void poison() { check_cuda(cudaMemset(data_, 0xff, bytes_), "cudaMemset"); }
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

/// Normally distributed, the same for the same seed; repeats after some millions, a prime number.
inline std::vector<float> normal(std::size_t count, float deviation, std::uint32_t seed) {
    constexpr std::size_t period = 3'999'971;
    std::mt19937 engine(seed);
    std::normal_distribution<float> draw(0.0F, deviation);
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i) {
        result[i] = i < period ? draw(engine) : result[i - period];
    }
    return result;
}

/// The same content over and over.
inline void fill(void* to, std::size_t bytes, std::span<const std::byte> content) {
    for (std::size_t at = 0; at < bytes; at += content.size()) {
        check_cuda(cudaMemcpy(static_cast<std::byte*>(to) + at, content.data(), std::min(content.size(), bytes - at),
                              cudaMemcpyHostToDevice),
                   "cudaMemcpy");
    }
}

using Launch = std::function<void(cudaStream_t)>;

struct Timing {
    double median_us;
    double least_us;
    double most_us;
};

/// Times of one call each, all candidates in turn in every repeat; each is called as often as fills `sample_us`.
std::vector<Timing> time_in_turn(std::span<const Launch> candidates, cudaStream_t stream, double sample_us = 5000,
                                 int repeats = 9);

}  // namespace sluice::bench

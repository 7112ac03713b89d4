#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/device.hpp"
#include "core/device/cuda.hpp"
#include "core/device/cuda_clock.hpp"

namespace sluice {

/// A GPU that this build has code for, the current one of the thread that makes it.
class CudaDevice : public Device {
public:
    /// Throws Error (unavailable) when the build has no code for the GPU.
    CudaDevice(int index, const CudaDeviceOptions& options);

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }

    /// A call back from the driver's thread would cost the stream more than a look at the event costs the host.
    [[nodiscard]] bool rings() const noexcept override { return false; }

    [[nodiscard]] std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
    [[nodiscard]] Buffer allocate(MemorySpace space, std::size_t bytes) override;
    [[nodiscard]] std::optional<MemoryInfo> memory() const override;

    [[nodiscard]] MatrixInstructions instructions() const noexcept { return instructions_; }

    /// Shared memory that a block may have: 227 KiB on compute capability 9.0, 163 on 8.0, 99 on 8.6 and 8.9.
    [[nodiscard]] std::uint32_t block_shared_bytes() const noexcept { return block_shared_bytes_; }

private:
    void check_memory(cudaError_t status, MemorySpace space, std::size_t bytes) const;

    std::string name_;
    MatrixInstructions instructions_ = MatrixInstructions::mma;
    std::uint32_t block_shared_bytes_ = 0;
    std::unique_ptr<CudaClock> clock_;
};

/// The fastest that the build has code for on a GPU, or the one that is the calling thread's current one. Throws Error
/// (unavailable) when it has none.
[[nodiscard]] MatrixInstructions instructions_of_gpu(int device);
[[nodiscard]] MatrixInstructions instructions_of_current_gpu();

/// The CUDA device behind `device`. A CUDA layer on another kind of device is a broken assumption.
[[nodiscard]] CudaDevice& as_cuda(Device& device);

}  // namespace sluice

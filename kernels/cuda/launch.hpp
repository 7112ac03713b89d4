#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/device/cuda_error.hpp"

namespace sluice {

struct LaunchShape {
    std::uint32_t blocks;
    std::uint32_t threads;
    std::size_t shared_bytes = 0;
    /// Programmatic dependent launch: may start before the previous kernel in the stream is done, and waits for it
    /// itself. If its code has no instruction for that, it starts afterwards.
    bool chained = false;
};

/// Whether `kernel`'s code on the current device has the instruction of ptx::wait_for_previous_kernel(): the driver may
/// have compiled it from an older device's PTX, which does not.
[[nodiscard]] bool waits_in_chains(const void* kernel);

/// On the current device.
[[nodiscard]] std::uint32_t count_multiprocessors();

/// Of an H100 or an H200. Kernels whose blocks loop over their work get at most a multiple of it as blocks.
inline constexpr std::uint32_t hopper_multiprocessors = 132;

/// Shared memory that a block may have on every GPU with asynchronous copies: compute capability 8.6 and 8.9 have the
/// least.
inline constexpr std::uint32_t least_shared_bytes = 99 * 1024;

/// Blocks of a kernel with a grid-stride loop.
inline std::uint32_t blocks_for(std::uint64_t work, std::uint32_t of_block, std::uint32_t most) {
    const std::uint64_t blocks = (work + of_block - 1) / of_block;
    return static_cast<std::uint32_t>(blocks == 0 ? 1 : blocks < most ? blocks : most);
}

/// Lets blocks of `kernel` have up to so many bytes of dynamic shared memory; without it they have 48 KiB at most.
void allow_shared_bytes(const void* kernel, std::size_t bytes);

template <class... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::size_t bytes) {
    allow_shared_bytes(reinterpret_cast<const void*>(kernel), bytes);
}

/// Enqueues `kernel`; `name` appears in the error.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const char* name, const LaunchShape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
    cudaLaunchAttribute chained{};
    chained.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    chained.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.blocks);
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    config.attrs = &chained;
    config.numAttrs = shape.chained && waits_in_chains(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
    check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}

}  // namespace sluice

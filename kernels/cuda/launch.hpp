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
    /// May start before the kernel before it in the stream is done, which the kernel waits for. Where its code has no
    /// instruction for that, it starts afterwards.
    bool chained = false;
};

/// Whether ptx::wait_for_previous_kernel() is more than nothing in the code that the current device has for `kernel`,
/// which need not be made for this device: the driver may have compiled the PTX of an older one.
[[nodiscard]] bool waits_in_chains(const void* kernel);

/// Of the current device.
[[nodiscard]] std::uint32_t count_multiprocessors();

/// Enqueues `kernel`, which `name` names in the error.
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

#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace sluice {

/// Throws Error (gpu_fault, or out_of_memory where CUDA says so) that names the call and CUDA's reason, unless `status`
/// is success. `call` is what was asked of CUDA, for the message.
void check_cuda(cudaError_t status, const char* call,
                const std::source_location& where = std::source_location::current());

/// The same for what the launches before it in this thread left behind.
void check_launch(const char* kernel, const std::source_location& where = std::source_location::current());

}  // namespace sluice

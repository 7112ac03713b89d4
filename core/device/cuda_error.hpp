#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>
#include <string_view>

namespace sluice {

/// Throws Error unless `status` is success: out_of_memory where CUDA says so, unavailable for a missing driver or
/// kernel image, gpu_fault for a fault of the hardware, else internal. It names the GPU of the calling thread, the
/// `call` and CUDA's reason.
void check_cuda(cudaError_t status, const char* call,
                const std::source_location& where = std::source_location::current());

/// The same for what the launches before it in this thread left behind.
void check_launch(const char* kernel, const std::source_location& where = std::source_location::current());

/// Throws the internal Error of a `call` of another NVIDIA library, which says `why` it failed.
[[noreturn]] void fail_call(const char* call, std::string_view why);

/// What check_cuda() calls the GPU that this thread drives.
void set_gpu_of_thread(std::string name);

}  // namespace sluice

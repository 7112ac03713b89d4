#include "kernels/cuda/cuda_error.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/error.hpp"

namespace sluice {
namespace {

std::string_view base_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

void check_cuda(cudaError_t status, const char* call, const std::source_location& where) {
    if (status == cudaSuccess) {
        return;
    }
    const bool memory = status == cudaErrorMemoryAllocation;
    throw Error(memory ? ExitCode::out_of_memory : ExitCode::gpu_fault,
                {.id = memory ? "E-GPU-071" : "E-GPU-080",
                 .where = fmt::format("{}:{}", base_name(where.file_name()), where.line()),
                 .what = fmt::format("{} failed: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status)),
                 .hint = memory ? "use smaller chunks, or free the GPU's memory" : "look at the GPU with nvidia-smi"});
}

void check_launch(const char* kernel, const std::source_location& where) {
    check_cuda(cudaGetLastError(), kernel, where);
}

}  // namespace sluice

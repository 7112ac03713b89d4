#include "core/device/cuda_error.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace sluice {
namespace {

thread_local std::string gpu_of_thread;

struct Kind {
    ExitCode code;
    const char* id;
    const char* hint;
};

Kind kind_of(cudaError_t status) {
    switch (status) {
        case cudaErrorMemoryAllocation:
            return {ExitCode::out_of_memory, "E-GPU-066",
                    "lower pipeline.chunk_items or pipeline.depth, or free the GPU's memory"};
        case cudaErrorNoDevice:
            return {ExitCode::unavailable, "E-GPU-061", "set run.device = \"host\", or request a GPU for the job"};
        case cudaErrorInsufficientDriver:
            return {ExitCode::unavailable, "E-GPU-063", "update the NVIDIA driver, or set run.device = \"host\""};
        case cudaErrorNoKernelImageForDevice:
            return {
                ExitCode::unavailable, "E-GPU-063",
                "build with this GPU's architecture in CMAKE_CUDA_ARCHITECTURES (this build: " SLUICE_CUDA_ARCHITECTURES
                ")"};
        case cudaErrorDevicesUnavailable:
            return {ExitCode::unavailable, "E-GPU-065",
                    "another process has exclusive use of the GPU: nvidia-smi shows it"};
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorHardwareStackError:
        case cudaErrorContained:
            return {ExitCode::gpu_fault, "E-GPU-080", "the GPU is faulty: exclude its node (sbatch --exclude)"};
        default:
            return {ExitCode::internal, "E-GPU-096", "this is a defect of sluice; please report it"};
    }
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

[[noreturn]] void refuse(const Kind& kind, std::string what) {
    throw Error(kind.code, {.id = kind.id,
                            .where = gpu_of_thread.empty() ? "GPU" : gpu_of_thread,
                            .what = std::move(what),
                            .hint = kind.hint});
}

}  // namespace

void check_cuda(cudaError_t status, const char* call, const std::source_location& where) {
    if (status == cudaSuccess) {
        return;
    }
    refuse(kind_of(status), fmt::format("{} failed: {} ({}, at {}:{})", call, cudaGetErrorString(status),
                                        cudaGetErrorName(status), base_name(where.file_name()), where.line()));
}

void fail_call(const char* call, std::string_view why) {
    refuse(kind_of(cudaErrorUnknown), fmt::format("{} failed: {}", call, why));
}

void check_launch(const char* kernel, const std::source_location& where) {
    check_cuda(cudaGetLastError(), kernel, where);
}

void set_gpu_of_thread(std::string name) {
    gpu_of_thread = std::move(name);
}

}  // namespace sluice

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "core/device/gpu_code.hpp"

namespace sluice {

/// CMake chooses the implementation: core/device/cuda_device.cpp with SLUICE_CUDA, else core/device/cuda_absent.cpp.

[[nodiscard]] bool built_with_cuda() noexcept;

/// GPUs that this process sees; 0 in a build without CUDA.
[[nodiscard]] std::uint32_t cuda_device_count();

struct CudaGpu {
    std::string uuid{};  ///< "GPU-8-4-4-4-12", the same in every process of the node; "MIG-…" of an instance.
    std::string pci{};   ///< "0000:17:00.0".
    std::string name{};  ///< "NVIDIA H200"; of an instance "NVIDIA H200 MIG 1g.18gb".
    std::optional<std::uint32_t> host_numa_node{};  ///< The CPUs' nearest to it, if the driver says so.
};

/// Whether that is the name of an instance (MIG), which CUDA shows in place of its GPU.
[[nodiscard]] inline bool names_instance(std::string_view name) {
    return name.find(" MIG ") != std::string_view::npos;
}

/// Those GPUs in the order of their indexes.
[[nodiscard]] std::vector<CudaGpu> cuda_gpus();

/// Why cuda_device_count() is 0: "built without CUDA", "no NVIDIA driver"; empty when it is not.
[[nodiscard]] std::string why_no_cuda();

/// Throws Error (unavailable) when there is no driver, or one that is too old for this build, or a build without CUDA.
void check_cuda_driver();

/// "NVIDIA H200". For the index of a GPU that this process sees, in a build with CUDA.
[[nodiscard]] std::string cuda_device_model(std::uint32_t index);

/// As CudaGpu::uuid. For the index of a GPU that this process sees, in a build with CUDA.
[[nodiscard]] std::string cuda_device_uuid(std::uint32_t index);

/// What measured costs are of: its model, and what multiplies on it in this build, "NVIDIA H200, wgmma". Throws Error
/// (unavailable) when the build has no code for it.
[[nodiscard]] std::string cuda_device_kind(std::uint32_t index);

/// Starts CUDA's driver and the contexts of these GPUs, by their indexes, one after the other: the driver makes no two
/// at once, and so the first is there before the last; `started` is told of each. Empty: of all that this process sees.
/// False if there are none, or one does not start.
[[nodiscard]] bool start_cuda_contexts(std::vector<std::uint32_t> gpus,
                                       const std::function<void(std::uint32_t gpu)>& started);

/// Less than the GPU has, so that it runs what others would; at most what it has.
struct CudaDeviceOptions {
    std::optional<MatrixInstructions> instructions = {};
    std::optional<std::uint32_t> block_shared_bytes = {};
};

/// Throws Error (unavailable) when there is no such GPU, or the build has no CUDA or no code for it.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(std::uint32_t index, const CudaDeviceOptions& options = {});

}  // namespace sluice

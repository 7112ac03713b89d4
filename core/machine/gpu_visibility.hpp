#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/topology.hpp"

namespace sluice {

/// A GPU, or a MIG instance of one, as a process sees it.
struct VisibleGpu {
    std::string id{};   ///< Equal in every process of the node: the UUID if known, else the address.
    std::string pci{};  ///< Empty: unknown.
    friend bool operator==(const VisibleGpu&, const VisibleGpu&) = default;
};

/// Whether it is a MIG instance: their ids begin with "MIG-".
[[nodiscard]] inline bool is_instance(const VisibleGpu& gpu) {
    return gpu.id.starts_with("MIG-");
}

/// The GPUs that CUDA shows to this process.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(std::span<const CudaGpu> gpus);

struct VisibleGpus {
    std::vector<VisibleGpu> gpus{};    ///< In CUDA's order.
    std::vector<std::string> notes{};  ///< Problems with the variable's value; escaped.
};

/// The GPUs that CUDA would show to a process with this CUDA_VISIBLE_DEVICES: all if unset (nullopt), none if empty,
/// else those named by index, UUID or a unique prefix of one, or MIG name, up to the first entry that names nothing
/// (CUDA Programming Guide, "CUDA Environment Variables").
[[nodiscard]] VisibleGpus visible_gpus(const Topology& topology,
                                       const std::optional<std::string>& cuda_visible_devices);

/// The GPUs that this process may open, by address, as NVIDIA's kernel module lists them in `proc`/gpus, without
/// starting CUDA. nullopt: only CUDA can tell, because there is no such list, a GPU has MIG instances, a file in `dev`
/// is not the GPU's that it is named after, or the GPUs are of several models, which CUDA orders by itself.
[[nodiscard]] std::optional<std::vector<CudaGpu>> read_driver_gpus(
    const std::filesystem::path& proc = "/proc/driver/nvidia", const std::filesystem::path& dev = "/dev");

/// Those of `all`, GPUs of one model by address, that CUDA shows with this CUDA_VISIBLE_DEVICES, in CUDA's order.
/// nullopt: only CUDA can tell, because the variable names MIG instances, or a GPU that does not exist.
[[nodiscard]] std::optional<std::vector<CudaGpu>> seen_by_cuda(std::span<const CudaGpu> all,
                                                               const std::optional<std::string>& cuda_visible_devices);

/// The value of CUDA_VISIBLE_DEVICES that shows a process only the GPUs `uuids`, in that order; nullopt: leave it
/// unchanged, because the process sees no others.
[[nodiscard]] std::optional<std::string> variable_for(std::span<const std::string> uuids,
                                                      std::span<const CudaGpu> seen);

/// Indexes of the GPUs `uuids` in `shown`; nullopt: one is missing.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> numbers_of(std::span<const std::string> uuids,
                                                                   std::span<const CudaGpu> shown);

}  // namespace sluice

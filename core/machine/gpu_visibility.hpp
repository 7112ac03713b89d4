#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/topology.hpp"

namespace sluice {

/// A GPU, or an instance of one (MIG), as a process sees it.
struct VisibleGpu {
    std::string id{};   ///< The same in every process of the node: the UUID where it is known, else the address.
    std::string pci{};  ///< Empty: it is not known where it is.
    friend bool operator==(const VisibleGpu&, const VisibleGpu&) = default;
};

/// "MIG-…" is an instance's id.
[[nodiscard]] inline bool is_instance(const VisibleGpu& gpu) {
    return gpu.id.starts_with("MIG-");
}

/// Those that CUDA itself shows to this process.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(std::span<const CudaGpu> gpus);

struct VisibleGpus {
    std::vector<VisibleGpu> gpus{};    ///< In CUDA's order.
    std::vector<std::string> notes{};  ///< What is odd about the variable's value; escaped.
};

/// What CUDA would show to a process with this CUDA_VISIBLE_DEVICES; nullopt: not set, which is not the same as empty.
/// CUDA Programming Guide, "CUDA Environment Variables": not set is all, empty is none; indexes, UUIDs or their unique
/// beginnings, and MIG names; the first entry that names nothing ends the list.
[[nodiscard]] VisibleGpus visible_gpus(const Topology& topology,
                                       const std::optional<std::string>& cuda_visible_devices);

/// The machine's GPUs that this process may open, in the order of their addresses, as NVIDIA's kernel module describes
/// them in `proc`/gpus: CUDA is not asked, and so does not start yet. nullopt: CUDA has to be asked, because there is
/// no such description, a GPU has instances (MIG), or the GPUs are of several models, which CUDA puts in an order of
/// its own.
[[nodiscard]] std::optional<std::vector<CudaGpu>> read_driver_gpus(
    const std::filesystem::path& proc = "/proc/driver/nvidia", const std::filesystem::path& dev = "/dev");

/// Of the GPUs that a process may open, `all` of one model in the order of their addresses, those that CUDA shows with
/// this CUDA_VISIBLE_DEVICES, in its order. nullopt: CUDA has to be asked, because the variable names instances, or
/// something that is not there.
[[nodiscard]] std::optional<std::vector<CudaGpu>> seen_by_cuda(std::span<const CudaGpu> all,
                                                               const std::optional<std::string>& cuda_visible_devices);

/// The CUDA_VISIBLE_DEVICES that shows a process the GPUs of those UUIDs only, in that order; nullopt: it is to stay as
/// it is, because these are all that the process sees.
[[nodiscard]] std::optional<std::string> variable_for(std::span<const std::string> uuids,
                                                      std::span<const CudaGpu> seen);

/// Where in `shown` the GPUs of those UUIDs are; nullopt: one of them is not there.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> numbers_of(std::span<const std::string> uuids,
                                                                   std::span<const CudaGpu> shown);

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/gpu_visibility.hpp"
#include "core/machine/topology.hpp"
#include "core/modes.hpp"

namespace sluice {

/// A rank as its node's other ranks know it.
struct NodeRank {
    CpuSet mask{};                   ///< What it may use.
    std::uint32_t quota_cpus = 0;    ///< What its cgroup's CPU quota is worth; 0: no limit.
    std::uint64_t quota_group = 0;   ///< The same for ranks of one cgroup, who have that quota together.
    std::vector<VisibleGpu> gpus{};  ///< That it sees; none when the job computes on the host.
};

/// The ranks that share a node, and what they are to do.
struct RankLayout {
    DeviceKind device = DeviceKind::host;    ///< Not automatic.
    std::vector<NodeRank> ranks{};           ///< In the order of their numbers on the node.
    std::optional<std::uint32_t> devices{};  ///< Each drives; nullopt: its share.
    std::optional<std::size_t> reader{};     ///< Which of them reads the input and writes the output, if one does.
};

struct DevicePlace {
    std::uint32_t number = 0;                    ///< Of the GPU in the rank's own list; host devices count from 0.
    CpuSet cpus{};                               ///< Its driver's; a host device's streams run there, too.
    std::optional<std::uint32_t> memory_node{};  ///< Where its pinned buffers lie, when that is one NUMA node.
    bool is_near = true;                         ///< The driver runs on CPUs that the GPU is attached to.
    std::uint32_t ranks = 1;                     ///< That drive it.
};

struct RankPlace {
    CpuSet cpus{};              ///< All that its threads use.
    std::uint32_t cores = 1;    ///< That it can keep busy.
    bool has_own_cores = true;  ///< No other rank of the job has them.
    std::vector<DevicePlace> devices{};
    CpuSet comm{};
    CpuSet readers{};                  ///< And the writer's.
    std::uint32_t reader_threads = 0;  ///< That room is planned for; 0: this rank does not read.
    std::optional<std::size_t> nic{};  ///< The nearest one, as an index of Topology::nics.
};

struct Placement {
    std::vector<RankPlace> ranks{};
    std::vector<std::string> notes{};  ///< What is not as it should be, each with what to do about it; escaped.
};

/// Which GPUs, cores and NIC each rank of a node has, and each of its threads. Pure: every rank computes the same.
/// - GPUs as share_gpus, cores as share_cores; home of a rank are the CPUs that its GPUs are attached to, or its mask.
/// - Drivers, comm thread and readers get equal runs of the rank's cores; with fewer cores than threads, of its
///   hardware threads, one of each core first; with fewer of those, they share all.
/// - Host devices get equal runs of the rank's cores; its comm thread and readers, which mostly sleep, any of them.
/// Throws Error (configuration) when `devices` is more GPUs than a rank sees.
[[nodiscard]] Placement place(const Topology& topology, const RankLayout& layout);

/// `ranks` ranks that all may use topology.mask and all see `gpus`; nullopt: one a GPU, or one where there is none.
/// They compute on GPUs if they see any. The first one reads.
[[nodiscard]] RankLayout equal_ranks(const Topology& topology, const std::vector<VisibleGpu>& gpus,
                                     std::optional<std::uint32_t> ranks);

/// The masks that Slurm gives `ranks` tasks of `cpus` CPUs each with --cpu-bind=cores and --distribution=block:block:
/// runs of whole cores of topology.mask, neighbours together. Empty when there are too few.
[[nodiscard]] std::vector<CpuSet> block_masks(const Topology& topology, std::size_t ranks, std::uint32_t cpus);

/// Reader threads that room is planned for beside `cores` usable cores: one on every second core, at most 8.
[[nodiscard]] std::uint32_t planned_readers(std::uint32_t cores);

/// Ranks whose CPU time one cgroup's quota limits together.
struct QuotaGroup {
    std::uint32_t quota_cpus = 0;      ///< All of them together.
    std::vector<std::size_t> ranks{};  ///< Ascending.
    CpuSet cpus{};                     ///< Of all their masks.
};

/// The one of rank `me`; nullopt: no quota, or one that is worth all the cores of its ranks.
[[nodiscard]] std::optional<QuotaGroup> quota_group_of(const Topology& topology, const RankLayout& layout,
                                                       std::size_t me);

}  // namespace sluice

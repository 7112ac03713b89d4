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

/// A rank, as known to the other ranks of its node.
struct NodeRank {
    CpuSet mask{};                   ///< CPUs that it may use.
    std::uint32_t quota_cpus = 0;    ///< CpuQuota::cpus of its cgroup; 0: no limit.
    std::uint64_t quota_group = 0;   ///< Equal for ranks of one cgroup, which share that quota.
    std::vector<VisibleGpu> gpus{};  ///< Visible to it; empty if the job computes on the host.
};

/// The ranks of a node, and their tasks.
struct RankLayout {
    DeviceKind device = DeviceKind::host;    ///< Not automatic.
    std::vector<NodeRank> ranks{};           ///< In the order of their numbers on the node.
    std::optional<std::uint32_t> devices{};  ///< Driven by each rank; nullopt: its share.
    std::optional<std::size_t> reader{};     ///< The rank that reads the input and writes the output, if on this node.
};

struct DevicePlace {
    std::uint32_t number = 0;                    ///< Index of the GPU in the rank's list; of a host device, from 0.
    CpuSet cpus{};                               ///< Of its driver, and of a host device's streams.
    std::optional<std::uint32_t> memory_node{};  ///< NUMA node of its pinned buffers, if it is a single one.
    bool is_near = true;                         ///< Its driver runs on CPUs that the GPU is attached to.
    std::uint32_t ranks = 1;                     ///< Ranks that drive it.
};

struct RankPlace {
    CpuSet cpus{};              ///< Of all its threads.
    std::uint32_t cores = 1;    ///< Cores that it can keep busy.
    bool has_own_cores = true;  ///< No other rank of the job uses its cores.
    std::vector<DevicePlace> devices{};
    CpuSet comm{};
    CpuSet readers{};                  ///< Also of the writer.
    std::uint32_t reader_threads = 0;  ///< Planned for; 0: this rank does not read.
    std::optional<std::size_t> nic{};  ///< The nearest one, an index into Topology::nics.
};

struct Placement {
    std::vector<RankPlace> ranks{};
    std::vector<std::string> notes{};  ///< Problems, each with a remedy; escaped.
};

/// GPUs, cores and NIC of each rank of a node, and CPUs of each of its threads. Pure: every rank computes the same.
/// - GPUs by share_gpus(), cores by share_cores(); a rank's homes are the CPUs that its GPUs are attached to, or its
/// mask.
/// - With GPUs, drivers, comm thread and readers get equal runs of the rank's cores, as by share_threads().
/// - Host devices get equal runs of the rank's cores; comm thread and readers, which mostly sleep, share all of them.
/// Throws Error (configuration) when `devices` is more GPUs than a rank sees.
[[nodiscard]] Placement place(const Topology& topology, const RankLayout& layout);

/// `ranks` equal ranks, which may use topology.mask and see `gpus`; nullopt: one per GPU, or one if there is none. They
/// compute on GPUs if they see any. The first one reads.
[[nodiscard]] RankLayout equal_ranks(const Topology& topology, const std::vector<VisibleGpu>& gpus,
                                     std::optional<std::uint32_t> ranks);

/// The masks that Slurm gives `ranks` tasks of `cpus` CPUs each with --cpu-bind=cores and --distribution=block:block:
/// runs of neighbouring whole cores of topology.mask. Empty if there are too few.
[[nodiscard]] std::vector<CpuSet> block_masks(const Topology& topology, std::size_t ranks, std::uint32_t cpus);

/// Reader threads planned for on `cores` usable cores: one per two cores, at most 8.
[[nodiscard]] std::uint32_t planned_readers(std::uint32_t cores);

/// Ranks that share the CPU quota of one cgroup.
struct QuotaGroup {
    std::uint32_t quota_cpus = 0;      ///< For all of them together.
    std::vector<std::size_t> ranks{};  ///< Ascending.
    CpuSet cpus{};                     ///< Union of their masks.
};

/// The group of rank `me`; nullopt: no quota, or one that allows all cores of its ranks.
[[nodiscard]] std::optional<QuotaGroup> quota_group_of(const Topology& topology, const RankLayout& layout,
                                                       std::size_t me);

}  // namespace sluice

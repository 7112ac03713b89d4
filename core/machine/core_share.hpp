#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/machine/cpu_set.hpp"
#include "core/machine/topology.hpp"

namespace sluice {

/// What a rank brings to the sharing of a node's cores.
struct CoreClaim {
    CpuSet mask{};                ///< It may use these CPUs and no other.
    std::vector<CpuSet> homes{};  ///< It wants cores of each of these: the ones near a device. None: anywhere.
    std::uint32_t threads = 1;    ///< That should have a core each.
    bool is_limited = false;      ///< By a quota smaller than its mask: no core of it is the rank's own.
};

struct CoreShare {
    std::vector<std::uint32_t> cores{};  ///< Indexes of Topology::cores, ascending.
    CpuSet cpus{};                       ///< Those cores' CPUs within the mask.
    bool is_own = true;                  ///< No other rank of the job has them.
};

/// Divides the cores among a node's ranks: neighbours, first those of a rank's homes, evenly where homes overlap; then,
/// for ranks with more threads than that, free cores elsewhere in its mask. Where there are fewer cores than ranks,
/// they share all of them, and none is anybody's own. Nothing outside of a rank's mask is ever given to it.
[[nodiscard]] std::vector<CoreShare> share_cores(const Topology& topology, std::span<const CoreClaim> ranks);

/// The CPUs of one rank's threads.
struct ThreadShare {
    std::vector<CpuSet> threads{};  ///< One for each thread that asked for its own.
    CpuSet pool{};                  ///< What is left for other threads; may be empty.
};

/// Divides `share` among `threads` threads and a pool of `pool` threads: equal runs of cores, or of hardware threads,
/// one of each core first, where there are fewer cores than threads; where there are fewer of those, or the cores are
/// not the rank's own, all threads share all.
[[nodiscard]] ThreadShare share_threads(const Topology& topology, const CoreShare& share, std::uint32_t threads,
                                        std::uint32_t pool);

}  // namespace sluice

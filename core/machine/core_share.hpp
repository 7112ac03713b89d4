#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/machine/cpu_set.hpp"
#include "core/machine/topology.hpp"

namespace sluice {

/// What determines a rank's share of its node's cores.
struct CoreClaim {
    CpuSet mask{};                ///< The only CPUs that it may use.
    std::vector<CpuSet> homes{};  ///< Sets near its devices, from each of which it wants cores; empty: anywhere.
    std::uint32_t threads = 1;    ///< Threads that should have a core each.
    bool is_limited = false;      ///< A quota is smaller than its mask, so it owns no core.
};

struct CoreShare {
    std::vector<std::uint32_t> cores{};  ///< Indexes of Topology::cores, ascending.
    CpuSet cpus{};                       ///< CPUs of these cores within the mask.
    bool is_own = true;                  ///< No other rank of the job uses them.
};

/// Divides a node's cores among its ranks. Each gets neighbouring cores within its homes, an even share where homes
/// overlap, then, if it has more threads than that, free cores elsewhere in its mask. If there are fewer cores than
/// ranks, all share all of them and own none. No rank gets a CPU outside of its mask.
[[nodiscard]] std::vector<CoreShare> share_cores(const Topology& topology, std::span<const CoreClaim> ranks);

/// The CPUs of one rank's threads.
struct ThreadShare {
    std::vector<CpuSet> threads{};  ///< One per thread with CPUs of its own.
    CpuSet pool{};                  ///< For the other threads; may be empty.
};

/// Divides `share` among `threads` threads and a pool of `pool` threads: equal runs of cores or, if there are fewer
/// cores than threads, of hardware threads, one of each core first. If there are even fewer of those, or the cores are
/// not the rank's own, all threads share all CPUs.
[[nodiscard]] ThreadShare share_threads(const Topology& topology, const CoreShare& share, std::uint32_t threads,
                                        std::uint32_t pool);

}  // namespace sluice

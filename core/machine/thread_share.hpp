#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/core_share.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/machine/topology.hpp"

namespace sluice {

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

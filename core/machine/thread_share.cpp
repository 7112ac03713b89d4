#include "core/machine/thread_share.hpp"

#include <algorithm>

namespace sluice {
namespace {

/// One CPU of each core, then the second ones, and so on.
std::vector<CpuSet> hardware_threads(const std::vector<CpuSet>& cores) {
    std::vector<CpuSet> threads;
    bool found = true;
    for (std::size_t turn = 0; found; ++turn) {
        found = false;
        for (const CpuSet& core : cores) {
            if (const std::vector<std::uint32_t> cpus = core.cpus(); turn < cpus.size()) {
                threads.push_back(CpuSet::range(cpus[turn], cpus[turn]));
                found = true;
            }
        }
    }
    return threads;
}

CpuSet join(const std::vector<CpuSet>& slots, std::size_t begin, std::size_t end) {
    CpuSet all;
    for (std::size_t i = begin; i < end; ++i) {
        all |= slots[i];
    }
    return all;
}

}  // namespace

ThreadShare share_threads(const Topology& topology, const CoreShare& share, std::uint32_t threads, std::uint32_t pool) {
    std::vector<CpuSet> slots;
    for (const std::uint32_t core : share.cores) {
        slots.push_back(topology.cores[core].cpus & share.cpus);
    }
    if (slots.size() < threads + (pool == 0 ? 0U : 1U)) {
        slots = hardware_threads(slots);
    }
    if (!share.is_own || slots.size() < threads) {
        return {.threads = std::vector<CpuSet>(threads, share.cpus)};
    }
    const std::size_t runs = std::clamp<std::size_t>(slots.size(), threads, std::size_t{threads} + pool);
    const auto bound = [&](std::size_t run) { return runs == 0 ? 0 : run * slots.size() / runs; };
    ThreadShare result;
    for (std::uint32_t i = 0; i < threads; ++i) {
        result.threads.push_back(join(slots, bound(i), bound(i + 1)));
    }
    result.pool = join(slots, bound(threads), pool == 0 ? bound(threads) : slots.size());
    return result;
}

}  // namespace sluice

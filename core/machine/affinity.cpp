#include "core/machine/affinity.hpp"

#include <sched.h>

#include <array>

namespace sluice {

CpuSet kernel_affinity() {
    std::array<cpu_set_t, CpuSet::limit / CPU_SETSIZE> sets{};
    CpuSet cpus;
    if (sched_getaffinity(0, sizeof(sets), sets.data()) == 0) {
        for (std::uint32_t cpu = 0; cpu < CpuSet::limit; ++cpu) {
            if (CPU_ISSET_S(cpu, sizeof(sets), sets.data())) {
                cpus.add(cpu);
            }
        }
    }
    return cpus.empty() ? CpuSet::range(0, 0) : cpus;
}

}  // namespace sluice

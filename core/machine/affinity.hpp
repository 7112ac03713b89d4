#pragma once

#include <string>

#include "core/machine/cpu_set.hpp"

namespace sluice {

/// The operating system's word on where the calling thread runs.
class Affinity {
public:
    Affinity() = default;
    Affinity(const Affinity&) = delete;
    Affinity& operator=(const Affinity&) = delete;
    virtual ~Affinity() = default;

    /// Ties the calling thread, and those that it starts from now on, to `cpus`. Returns why it cannot, "" if it can;
    /// some systems accept a request and do something else.
    [[nodiscard]] virtual std::string set(const CpuSet& cpus) = 0;

    /// Empty when it cannot be told.
    [[nodiscard]] virtual CpuSet get() const = 0;
};

/// Where the calling thread may run, as the kernel says without hwloc; CPU 0 when it cannot be asked.
[[nodiscard]] CpuSet kernel_affinity();

}  // namespace sluice

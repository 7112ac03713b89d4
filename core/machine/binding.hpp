#pragma once

#include <optional>

#include "core/error.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/machine/topology_hwloc.hpp"

namespace sluice {

/// Ties the calling thread, and those that it starts from now on, to `cpus`, which is not empty; then looks where it
/// is. nullopt: there. Otherwise what is wrong (W-HWL-077): the thread runs, perhaps elsewhere.
[[nodiscard]] std::optional<ErrorText> bind(Machine& machine, const CpuSet& cpus);

/// Frees the calling thread, and those that it starts from now on, of the launcher's mask. What the kernel gives then
/// is the machine's mask and all that is allowed: hwloc does not see every cgroup. nullopt: done; otherwise why not
/// (W-HWL-077), and the mask stays.
[[nodiscard]] std::optional<ErrorText> leave_mask(Machine& machine);

/// While it lives, the calling thread is tied to `cpus`: threads are born where they belong, and so is their memory.
/// Afterwards it is tied to what it had before.
class BoundWhile {
public:
    BoundWhile(Machine& machine, const CpuSet& cpus);
    ~BoundWhile();
    BoundWhile(const BoundWhile&) = delete;
    BoundWhile& operator=(const BoundWhile&) = delete;

    /// What bind() has found.
    [[nodiscard]] const std::optional<ErrorText>& finding() const noexcept { return finding_; }

private:
    Machine& machine_;
    CpuSet before_;
    std::optional<ErrorText> finding_;
};

}  // namespace sluice

#pragma once

#include <optional>

#include "core/error.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/machine/topology_hwloc.hpp"

namespace sluice {

/// Binds the calling thread, and threads that it starts from now on, to `cpus` (not empty), and reads the binding back.
/// nullopt: it is bound. Otherwise the reason (W-HWL-077), and the thread may run elsewhere.
[[nodiscard]] std::optional<ErrorText> bind(Machine& machine, const CpuSet& cpus);

/// Removes the launcher's mask from the calling thread and threads that it starts from now on. The CPUs that the kernel
/// then grants become the machine's `mask` and `allowed`, because hwloc does not see every cgroup. nullopt: removed;
/// otherwise the reason (W-HWL-077), and the mask stays.
[[nodiscard]] std::optional<ErrorText> leave_mask(Machine& machine);

/// While it lives, the calling thread is bound to `cpus`, so that threads it starts run there and allocate near memory.
/// The destructor restores the previous binding.
class BoundWhile {
public:
    BoundWhile(Machine& machine, const CpuSet& cpus);
    ~BoundWhile();
    BoundWhile(const BoundWhile&) = delete;
    BoundWhile& operator=(const BoundWhile&) = delete;

    /// Result of bind().
    [[nodiscard]] const std::optional<ErrorText>& finding() const noexcept { return finding_; }

private:
    Machine& machine_;
    CpuSet before_;
    std::optional<ErrorText> finding_;
};

}  // namespace sluice

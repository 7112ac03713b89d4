#pragma once

#include <optional>

#include "core/cpu_set.hpp"
#include "core/error.hpp"
#include "core/topology_hwloc.hpp"

namespace sluice {

/// Ties the calling thread, and those that it starts from now on, to `cpus`, which is not empty; then looks where it
/// is. nullopt: there. Otherwise what is wrong (W-HWL-077): the thread runs, perhaps elsewhere. Throws Error
/// (configuration) when `cpus` holds some that the cgroup does not allow.
[[nodiscard]] std::optional<ErrorText> bind(Machine& machine, const CpuSet& cpus);

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

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

/// What a CPU quota took from a cgroup: its cpu.stat (Linux, Documentation/scheduler/sched-bwc).
struct CpuThrottling {
    std::uint64_t periods = 0;         ///< Of the quota, in which something ran.
    std::uint64_t throttled = 0;       ///< Of those in which the quota was used up,
    std::chrono::nanoseconds time{0};  ///< and how long its CPUs stood still for it, summed over CPUs.
    friend bool operator==(const CpuThrottling&, const CpuThrottling&) = default;
};

/// Of a file cpu.stat, of version 2 or 1. nullopt: it holds no such counts.
[[nodiscard]] std::optional<CpuThrottling> throttling_in(std::string_view cpu_stat);

/// Counts from its construction on.
class ThrottleMeter {
public:
    /// Of the groups of these folders.
    explicit ThrottleMeter(const std::vector<std::filesystem::path>& folders);

    /// Of the group that took most from it: a group's count leaves out what those around it took. nullopt: there is no
    /// quota, or no file that counts.
    [[nodiscard]] std::optional<CpuThrottling> read() const;

private:
    struct Group {
        std::filesystem::path file;
        CpuThrottling begin{};
    };
    std::vector<Group> groups_;
};

}  // namespace sluice

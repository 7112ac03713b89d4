#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The folders whose limits of `controller` ("cpu", "memory") hold for a process whose /proc/self/cgroup is
/// `membership`: its own group's and those of the groups around it, of version 2 and of version 1. In a container they
/// may not all be there.
[[nodiscard]] std::vector<std::filesystem::path> cgroup_folders(std::string_view membership,
                                                                std::string_view controller);

/// The same of this process.
[[nodiscard]] std::vector<std::filesystem::path> own_cgroup_folders(std::string_view controller);

/// CPUs that a quota is worth, rounded up: `text` is the content of cgroup v2's cpu.max ("200000 100000") or, of v1,
/// quota and period in one line. 0: no limit.
[[nodiscard]] std::uint32_t cpus_of_quota(std::string_view text);

struct CpuQuota {
    std::uint32_t cpus = 0;   ///< That it is worth; 0: no limit.
    std::uint64_t group = 0;  ///< The same in all processes of the node that have it together.
};

/// The smallest CPU quota of this process's own cgroup and of those around it.
[[nodiscard]] CpuQuota read_cpu_quota();
[[nodiscard]] inline std::uint32_t read_quota_cpus() {
    return read_cpu_quota().cpus;
}

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

inline constexpr std::uint64_t no_memory_limit = UINT64_MAX;

/// What a cgroup's file says, memory.max of version 2 or memory.limit_in_bytes of version 1, in bytes; no_memory_limit
/// for "max" and for a file that is not there.
[[nodiscard]] std::uint64_t memory_of_cgroup(std::string_view text);

/// MemAvailable of /proc/meminfo, in bytes; no_memory_limit when `text` does not hold it.
[[nodiscard]] std::uint64_t memory_of_meminfo(std::string_view text);

/// Bytes of memory that this process may use: the least that its cgroups allow and that the node has to give now. Other
/// processes of the node, other ranks too, take from the same.
[[nodiscard]] std::uint64_t read_memory_limit();

}  // namespace sluice

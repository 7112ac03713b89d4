#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Folders of the cgroups whose limits of `controller` ("cpu", "memory") apply to a process whose /proc/self/cgroup
/// holds `membership`: its own group and its ancestors, of cgroup v2 and v1. In a container some may not exist.
[[nodiscard]] std::vector<std::filesystem::path> cgroup_folders(std::string_view membership,
                                                                std::string_view controller);

/// The same for this process.
[[nodiscard]] std::vector<std::filesystem::path> own_cgroup_folders(std::string_view controller);

/// A CPU quota in CPUs, rounded up. `text` holds cgroup v2's cpu.max ("200000 100000"), or v1's quota and period in one
/// line. 0: no limit.
[[nodiscard]] std::uint32_t cpus_of_quota(std::string_view text);

struct CpuQuota {
    std::uint32_t cpus = 0;   ///< Rounded up; 0: no limit.
    std::uint64_t group = 0;  ///< Equal in all processes of the node that share this quota.
};

/// The smallest CPU quota of the cgroups with these folders.
[[nodiscard]] CpuQuota smallest_quota(const std::vector<std::filesystem::path>& folders);

/// The same of this process's cgroup and its ancestors.
[[nodiscard]] CpuQuota read_cpu_quota();
[[nodiscard]] inline std::uint32_t read_quota_cpus() {
    return read_cpu_quota().cpus;
}

/// How often and for how long a CPU quota stopped a cgroup, by its cpu.stat (Linux, Documentation/scheduler/sched-bwc).
struct CpuThrottling {
    std::uint64_t periods = 0;         ///< Quota periods in which something ran.
    std::uint64_t throttled = 0;       ///< Of these, periods in which the quota was used up.
    std::chrono::nanoseconds time{0};  ///< Time without a CPU because of it, summed over CPUs.
    friend bool operator==(const CpuThrottling&, const CpuThrottling&) = default;
};

/// Parses cpu.stat of cgroup v2 or v1. nullopt: it has no such counts.
[[nodiscard]] std::optional<CpuThrottling> throttling_in(std::string_view cpu_stat);

/// Measures throttling since its construction.
class ThrottleMeter {
public:
    /// `folders`: of the cgroups to watch.
    explicit ThrottleMeter(const std::vector<std::filesystem::path>& folders);

    /// Throttling by the group that cost most time: a group's counts exclude those of its ancestors. nullopt: no quota,
    /// or no counts.
    [[nodiscard]] std::optional<CpuThrottling> read() const;

private:
    struct Group {
        std::filesystem::path file;
        CpuThrottling begin{};
    };
    std::vector<Group> groups_;
};

inline constexpr std::uint64_t no_memory_limit = UINT64_MAX;

/// Memory limit in bytes, from the content of cgroup v2's memory.max or v1's memory.limit_in_bytes; no_memory_limit for
/// "max" and for a missing file.
[[nodiscard]] std::uint64_t memory_of_cgroup(std::string_view text);

/// Bytes of a cgroup's memory that it gives back when it needs them, cached pages of files, by the content of its
/// memory.stat (Linux, Documentation/admin-guide/cgroup-v2 and cgroup-v1/memory). 0: none, or it does not say.
[[nodiscard]] std::uint64_t reclaimable_in(std::string_view memory_stat);

/// What a cgroup of this memory limit has left, if it uses so many bytes, some of them reclaimable. no_memory_limit for
/// a group without a limit.
[[nodiscard]] std::uint64_t memory_left(std::uint64_t limit, std::uint64_t used, std::uint64_t reclaimable);

/// The least memory_left() in bytes of the cgroups with these folders; no_memory_limit if none has a limit.
[[nodiscard]] std::uint64_t least_memory_left(const std::vector<std::filesystem::path>& folders);

/// MemAvailable in bytes, from the content of /proc/meminfo; no_memory_limit if `text` lacks it.
[[nodiscard]] std::uint64_t memory_of_meminfo(std::string_view text);

/// Bytes of memory that this process may use besides what it has: the least of what its cgroups have left and the node
/// has available. Not its own: other ranks and processes of the node draw on the same memory.
[[nodiscard]] std::uint64_t read_available_memory();

/// Throws Error (out_of_memory) at `where` if weights of so many bytes exceed `available`: filling more than there is
/// would get the process, or another one, killed.
void check_weights_fit(std::uint64_t bytes, std::string_view where, std::uint64_t available = read_available_memory());

}  // namespace sluice

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What this process may use of its node.
struct UsableCpus {
    std::string mask{};       ///< hwloc's list form, "0-3,8": allowed by the cgroup and by the launcher's binding.
    std::uint32_t cores = 1;  ///< Physical cores in it, at most what the cgroup's CPU quota is worth; at least 1.
};

/// Reads the topology and this process's binding. Throws Error (unavailable) when hwloc cannot.
[[nodiscard]] UsableCpus read_usable_cpus();

/// CPUs that a cgroup quota is worth, rounded up: `text` is the content of cgroup v2's cpu.max ("200000 100000") or, of
/// v1, quota and period in one line. 0: no limit.
[[nodiscard]] std::uint32_t cpus_of_quota(std::string_view text);

/// How many host devices local rank `me` drives, one a core, when the node's ranks have the usable CPUs `ranks`: ranks
/// with overlapping masks share them evenly, the first ones take the remainder; at least one each.
[[nodiscard]] std::uint32_t host_devices_of(std::span<const UsableCpus> ranks, std::size_t me);

/// The node's name as the kernel has it.
[[nodiscard]] std::string host_name();

}  // namespace sluice

#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

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

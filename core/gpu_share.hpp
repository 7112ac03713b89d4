#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Which GPUs local rank `me` drives, by their places in its own list, when the ranks of a node see the GPUs `ids` (one
/// list a rank; lists are equal or have no GPU in common). Ranks with the same list take turns of neighbours: an even
/// share each, or `wanted` GPUs each. Where ranks need more than there are, GPUs are shared, and nobody goes without.
/// Empty when this rank sees none. Throws Error (configuration) when `wanted` is more than it sees.
[[nodiscard]] std::vector<std::uint32_t> gpus_of(std::span<const std::vector<std::string>> ids, std::size_t me,
                                                 std::optional<std::uint32_t> wanted);

}  // namespace sluice

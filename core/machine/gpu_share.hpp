#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// A GPU as one rank sees it.
struct SeenGpu {
    std::string id{};            ///< The same in every rank of the node.
    bool near = true;            ///< The rank may run on CPUs that it is attached to.
    std::uint32_t locality = 0;  ///< GPUs that are attached to the same CPUs have the same number.
};

/// Which GPUs each rank of a node drives, by their places in its own list. Ranks that see the same GPUs get an even
/// share each, the first ones the remainder, or `wanted` each: GPUs near their CPUs before others, whole localities
/// before parts, in the order of the ranks. Where ranks need more than there are, GPUs are shared as evenly as can be,
/// and nobody goes without. Empty for a rank that sees none. Throws Error (configuration) when `wanted` is more than a
/// rank sees.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> share_gpus(std::span<const std::vector<SeenGpu>> ranks,
                                                                 std::optional<std::uint32_t> wanted);

}  // namespace sluice

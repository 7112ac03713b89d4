#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// A GPU as one rank sees it.
struct SeenGpu {
    std::string id{};            ///< Equal on every rank of the node.
    bool near = true;            ///< Attached to CPUs that the rank may use.
    std::uint32_t locality = 0;  ///< Equal for GPUs attached to the same CPUs.
};

/// The GPUs that each rank of a node drives, as indexes into its own list. Ranks that see the same GPUs get `wanted`
/// each, or an even share, the first ones the remainder: GPUs near their CPUs first, whole localities before parts, in
/// rank order. If there are too few, GPUs are shared as evenly as possible, so that every rank has one. Empty for a
/// rank that sees none. Throws Error (configuration) when `wanted` is more than a rank sees.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> share_gpus(std::span<const std::vector<SeenGpu>> ranks,
                                                                 std::optional<std::uint32_t> wanted);

}  // namespace sluice

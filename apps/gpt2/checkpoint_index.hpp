#pragma once

#include <filesystem>
#include <vector>

namespace sluice::gpt2 {

/// Whether `weights` is the index (.json) of a sharded checkpoint.
[[nodiscard]] bool is_checkpoint_index(const std::filesystem::path& weights);

/// Files named by an index, in its folder; empty if `weights` is not an index.
[[nodiscard]] std::vector<std::filesystem::path> shards_of(const std::filesystem::path& weights);

}  // namespace sluice::gpt2

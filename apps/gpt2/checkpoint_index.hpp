#pragma once

#include <filesystem>
#include <vector>

namespace sluice::gpt2 {

/// A .json that says which of several files has which tensor.
[[nodiscard]] bool is_checkpoint_index(const std::filesystem::path& weights);

/// The files that an index names, in its folder; none if `weights` is no index.
[[nodiscard]] std::vector<std::filesystem::path> shards_of(const std::filesystem::path& weights);

}  // namespace sluice::gpt2

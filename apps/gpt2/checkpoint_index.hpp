#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::gpt2 {

/// Whether `weights` is the index (.json) of a sharded checkpoint.
[[nodiscard]] bool is_checkpoint_index(const std::filesystem::path& weights);

/// Names of files by the tensors in them.
using WeightMap = std::map<std::string, std::string>;

/// What an index says. Throws Error (no_input, bad_data).
[[nodiscard]] WeightMap weight_map_of(const std::filesystem::path& index);

/// Throws Error (bad_data).
[[noreturn]] void refuse_index(const std::string& where, std::string what);

/// Files named by an index, in its folder; empty if `weights` is not an index.
[[nodiscard]] std::vector<std::filesystem::path> shards_of(const std::filesystem::path& weights);

}  // namespace sluice::gpt2

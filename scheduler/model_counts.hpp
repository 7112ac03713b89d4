#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "core/model.hpp"

namespace sluice {

/// Adds the counts of another device or rank.
void add_counts(std::vector<ModelCount>& all, std::span<const ModelCount> more);

/// For transfer to rank 0; counts_from() is the inverse.
[[nodiscard]] nlohmann::json to_json(std::span<const ModelCount> counts);
[[nodiscard]] std::vector<ModelCount> counts_from(const nlohmann::json& json);

}  // namespace sluice

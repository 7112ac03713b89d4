#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "core/model.hpp"

namespace sluice {

/// Adds what another device or rank has counted.
void add_counts(std::vector<ModelCount>& all, std::span<const ModelCount> more);

/// For the way to rank 0; counts_from() takes what it made.
[[nodiscard]] nlohmann::json to_json(std::span<const ModelCount> counts);
[[nodiscard]] std::vector<ModelCount> counts_from(const nlohmann::json& json);

}  // namespace sluice

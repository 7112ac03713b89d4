#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace sluice {

using RankList = std::vector<const RankFacts*>;

/// "rank 3 on n01", "ranks 0-3 on n01", "ranks 0-7 on 2 nodes". `ranks` is not empty.
[[nodiscard]] std::string who(const RankList& ranks);

/// The hosts of `ranks`, each once.
[[nodiscard]] std::vector<std::string> hosts_of(const RankList& ranks);

/// The ranks of each node, in their order.
[[nodiscard]] std::map<std::uint32_t, RankList> by_node(std::span<const RankFacts> ranks);

/// Ranks of which the same is said, by what is said.
using Sayings = std::map<std::string, RankList>;

}  // namespace sluice

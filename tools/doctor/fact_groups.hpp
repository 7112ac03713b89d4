#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sluice {

using RankList = std::vector<const RankFacts*>;

/// "rank 3 on n01", "ranks 0-3 on n01", "ranks 0-7 on 2 nodes". `ranks` is not empty.
[[nodiscard]] std::string who(const RankList& ranks);

/// The ranks of each node, in rank order.
[[nodiscard]] std::map<std::uint32_t, RankList> by_node(std::span<const RankFacts> ranks);

/// The ranks for which `predicate(rank)` is true, in rank order.
template <class Predicate>
[[nodiscard]] RankList ranks_where(const DoctorFacts& facts, const Predicate& predicate) {
    RankList found;
    for (const RankFacts& rank : facts.ranks) {
        if (predicate(rank)) {
            found.push_back(&rank);
        }
    }
    return found;
}

/// Warnings, each reported once for all ranks that it applies to.
class Sayings {
public:
    void say(const RankFacts& rank, const char* id, std::string what, std::string remedy);

    /// "ranks 0-3 on n01: WHAT", ordered by id.
    [[nodiscard]] std::vector<Finding> take() const;

private:
    struct Saying {
        std::string id;
        std::string what;
        std::string remedy;
        bool operator<(const Saying& other) const {
            return std::tie(id, what, remedy) < std::tie(other.id, other.what, other.remedy);
        }
    };

    std::map<Saying, RankList> sayings_;
};

}  // namespace sluice

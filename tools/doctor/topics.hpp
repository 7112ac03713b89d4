#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tools/doctor/diagnose.hpp"
#include "tools/doctor/facts.hpp"
#include "tools/doctor/remedies.hpp"

namespace sluice {

// Units of numbers in texts.
constexpr double mebi = 1024.0 * 1024.0;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;

/// Problems of each topic; empty if none. Pure. diagnose() combines them.
[[nodiscard]] std::vector<Finding> diagnose_launch(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_cores(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_gpus(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_memory(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_network(const DoctorFacts& facts, const Remedies& remedies);
[[nodiscard]] std::vector<Finding> diagnose_clocks(const DoctorFacts& facts);
[[nodiscard]] std::vector<Finding> diagnose_output(const DoctorFacts& facts);

/// Facts of each topic in one line; empty if there are none.
[[nodiscard]] std::string launch_line(const DoctorFacts& facts);
[[nodiscard]] std::string cores_line(const DoctorFacts& facts);
[[nodiscard]] std::string gpus_line(const DoctorFacts& facts);
[[nodiscard]] std::string memory_line(const DoctorFacts& facts);
[[nodiscard]] std::string network_line(const DoctorFacts& facts);
[[nodiscard]] std::string clocks_line(const DoctorFacts& facts);
[[nodiscard]] std::string output_line(const DoctorFacts& facts);

/// Ranks known to MPI, if queried.
[[nodiscard]] std::optional<std::uint32_t> asked_world(const DoctorFacts& facts);

[[nodiscard]] Finding warning(const char* id, std::string what, std::string remedy);
[[nodiscard]] Finding error(const char* id, ExitCode code, std::string what, std::string remedy);

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
    std::map<std::tuple<std::string, std::string, std::string>, RankList> sayings_;  // by id, what and remedy
};

}  // namespace sluice

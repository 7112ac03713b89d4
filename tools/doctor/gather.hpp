#pragma once

#include <filesystem>
#include <optional>

#include "comm/node_view.hpp"
#include "tools/doctor/facts.hpp"

namespace sluice {

/// A job's requirements, known to all ranks.
struct Examination {
    JobWish wish{};
    DeviceKind device = DeviceKind::host;              ///< Not automatic.
    std::optional<std::filesystem::path> output = {};  ///< Where the output goes.
};

/// Facts about this rank from `node`, created for `job.wish`.
[[nodiscard]] RankFacts facts_of(const NodeView& node, const Examination& job, const Launch& launch);

/// Gathers all facts and measures links and copies, in tenths of a second. Collective; null `session`: a single
/// process. Returns all ranks' facts on rank 0, none elsewhere.
[[nodiscard]] DoctorFacts gather_facts(MpiSession* session, const Examination& job);

}  // namespace sluice

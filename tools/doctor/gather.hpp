#pragma once

#include <filesystem>
#include <optional>

#include "comm/node_view.hpp"
#include "tools/doctor/facts.hpp"

namespace sluice {

/// What a job asks for, as all ranks know it.
struct Examination {
    JobWish wish{};
    DeviceKind device = DeviceKind::host;              ///< Not automatic.
    std::optional<std::filesystem::path> output = {};  ///< Where the output goes.
};

/// What `node`, made for `wish`, says of this rank.
[[nodiscard]] RankFacts facts_of(const NodeView& node, const Examination& job, const Launch& launch);

/// Looks at everything, measures links and copies: tenths of a second. Collective; null: a single process. The facts of
/// all ranks are rank 0's; elsewhere there are none.
[[nodiscard]] DoctorFacts gather_facts(MpiSession* session, const Examination& job);

}  // namespace sluice

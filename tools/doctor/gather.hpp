#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

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

/// The facts of all ranks on rank 0, none elsewhere, each with its number and MPI's transport added to `mine`.
/// Collective; null `session`: a single process.
[[nodiscard]] std::vector<RankFacts> gather_ranks(MpiSession* session, RankFacts mine);

/// Parses the output of `srun --version`: "slurm 23.11.4", "slurm-wlm 22.05.8". nullopt: anything else.
[[nodiscard]] std::optional<SlurmVersion> parse_slurm_version(std::string_view text);

/// Version of the srun in PATH; nullopt: none, or unknown.
[[nodiscard]] std::optional<SlurmVersion> read_slurm_version();

}  // namespace sluice

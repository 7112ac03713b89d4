#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tools/torture/job.hpp"

namespace sluice::torture {

/// A campaign's actions and findings.
struct Tally {
    std::string name{};
    std::string skipped{};  ///< Why it did not run; empty: it did.
    std::map<std::string, std::uint64_t> counts{};
    Damage damage{};                      ///< Sum over all outputs.
    std::vector<std::string> problems{};  ///< One line each, with all that is needed to reproduce it.
    double seconds = 0;

    [[nodiscard]] bool good() const { return damage.none() && problems.empty(); }
};

using Progress = std::function<void(const Tally&)>;

struct Setting {
    const Job& job;
    std::uint64_t seed = 0;
    Progress progress{};
};

/// Output of an undisturbed run without mpirun; `salt` changes it, in a build with fault points. Throws Error
/// (internal) if the run fails.
[[nodiscard]] std::string undisturbed(const Job& job, std::uint64_t salt = 0);

/// Whether the program has fault points.
[[nodiscard]] bool has_faults(const Job& job);

struct KillOptions {
    std::uint64_t kills = 0;
    std::vector<int> ranks{4};  ///< Chosen at random per attempt; 0: without mpirun.
    bool requeued = false;      ///< Attempts pose as restarts of one Slurm job.
};

/// SIGKILL at random moments, to a rank, all ranks, or mpirun; then the same command again until it completes.
[[nodiscard]] Tally kill_at_random(const Setting& setting, const KillOptions& options);

/// SIGKILL at each fault point of a single attempt, one per run.
[[nodiscard]] Tally kill_at_points(const Setting& setting);

/// An attempt stops at each of its fault points, one per run. Another takes over, with other results; once that has
/// begun, the first sends heartbeats again, and it continues when the other has finished.
[[nodiscard]] Tally stop_at_points(const Setting& setting);

/// The same with the job's wrong order, harmless if undisturbed: kills and stops at every `stride`-th point, then the
/// others, until one does damage. A problem if none does.
[[nodiscard]] Tally catch_wrong_order(const Setting& setting, std::uint64_t stride);

/// Each number of ranks, three depths, and 0, 1 and 5 kills must give the same bytes.
[[nodiscard]] Tally vary_sizes(const Setting& setting, const std::vector<int>& ranks);

/// An attempt is stopped at a random moment, another takes over, the first continues. With fault points, each attempt
/// has other results.
[[nodiscard]] Tally overlap_attempts(const Setting& setting, std::uint64_t overlaps);

/// The n-th call of each kind fails, by strace, for every `stride`-th n of an attempt.
[[nodiscard]] Tally fail_calls(const Setting& setting, const std::vector<std::string>& errors, std::uint64_t stride);

struct SwapOptions {
    std::uint64_t swaps = 0;  ///< Per kind.
    int ranks = 3;            ///< Of every other attempt; the others run alone.
};

/// The input is swapped for another of the same size, number of items and time, by rename, by copying over it or by
/// truncation, at random moments of first attempts and of ones that continue after a kill. Each output has to be that
/// of one content, named in job.json; otherwise the attempt has to refuse.
[[nodiscard]] Tally swap_at_random(const Setting& setting, const SwapOptions& options);

/// The same at every `stride`-th fault point of a single attempt, which is stopped meanwhile.
[[nodiscard]] Tally swap_at_points(const Setting& setting, std::uint64_t stride);

/// Adds the damage in a run's output to the tally.
void inspect_into(Tally& tally, const Job& job, const std::filesystem::path& output,
                  const std::vector<std::string>& references, const std::string& story);

}  // namespace sluice::torture

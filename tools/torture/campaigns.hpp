#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tools/torture/job.hpp"

namespace sluice::torture {

/// What a campaign has done and found.
struct Tally {
    std::string name{};
    std::string skipped{};  ///< Why it did not run; empty: it did.
    std::map<std::string, std::uint64_t> counts{};
    Damage damage{};                      ///< Of all outputs together.
    std::vector<std::string> problems{};  ///< Each a line with all that is needed to do it again.
    double seconds = 0;

    [[nodiscard]] bool good() const { return damage.none() && problems.empty(); }
};

using Progress = std::function<void(const Tally&)>;

struct Setting {
    const Job& job;
    std::uint64_t seed = 0;
    Progress progress{};
};

/// Bytes of an undisturbed run alone; `salt` alters them, in a build with fault points. Throws Error (internal) when it
/// does not succeed.
[[nodiscard]] std::string undisturbed(const Job& job, std::uint64_t salt = 0);

/// Whether the program has fault points.
[[nodiscard]] bool has_faults(const Job& job);

struct KillOptions {
    std::uint64_t kills = 0;
    std::vector<int> ranks{4};  ///< Each attempt takes one at random; 0: alone.
    bool requeued = false;      ///< Attempts call themselves restarts of one Slurm job.
};

/// SIGKILL at random moments, to a rank, to all of them, or to mpirun; then the same command again until it is done.
[[nodiscard]] Tally kill_at_random(const Setting& setting, const KillOptions& options);

/// SIGKILL at each fault point of a single attempt, one in each run.
[[nodiscard]] Tally kill_at_points(const Setting& setting);

/// An attempt stops at each of its fault points, one in each run. Another one takes over, with other results; once that
/// has begun, the first one sends heartbeats again, and continues when the other one has finished.
[[nodiscard]] Tally stop_at_points(const Setting& setting);

/// The same with the job's wrong order, which does no harm undisturbed: kills and stops at every so many points, until
/// one does damage. A problem: none did.
[[nodiscard]] Tally catch_wrong_order(const Setting& setting, std::uint64_t stride);

/// Each number of ranks, three depths, no kill, one and five: the same bytes.
[[nodiscard]] Tally vary_sizes(const Setting& setting, const std::vector<int>& ranks);

/// An attempt is stopped at a random moment, another one takes over, the first one continues. Where the program has
/// fault points, each has other results.
[[nodiscard]] Tally overlap_attempts(const Setting& setting, std::uint64_t overlaps);

/// The n-th call of each kind fails, by strace, for every n that an attempt has; `stride` > 1 takes every so many.
[[nodiscard]] Tally fail_calls(const Setting& setting, const std::vector<std::string>& errors, std::uint64_t stride);

struct SwapOptions {
    std::uint64_t swaps = 0;  ///< Of each kind.
    int ranks = 3;            ///< Every other attempt has so many, the others run alone.
};

/// The input is swapped for another of the same size, number of items and time, by a rename, by a copy over it or by
/// cutting it, at random moments of attempts: first ones, and ones that continue after a kill. Each output has to be
/// that of one content, and job.json has to say which; else the attempt has to refuse.
[[nodiscard]] Tally swap_at_random(const Setting& setting, const SwapOptions& options);

/// The same at every so many fault points of a single attempt, where it is stopped meanwhile.
[[nodiscard]] Tally swap_at_points(const Setting& setting, std::uint64_t stride);

/// Adds what is wrong with the output of a run to the tally.
void inspect_into(Tally& tally, const Job& job, const std::filesystem::path& output,
                  const std::vector<std::string>& references, const std::string& story);

}  // namespace sluice::torture

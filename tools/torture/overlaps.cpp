#include <fmt/format.h>
#include <signal.h>

#include <set>

#include "core/clock.hpp"
#include "core/commit/attempt_folder.hpp"
#include "tools/torture/campaigns.hpp"

namespace sluice::torture {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t different_results = 3;

/// Makes the newest attempt's heartbeat look an hour old, as on an unreachable host. False if there is none.
bool silence(const std::filesystem::path& output) {
    const RunPaths paths = run_paths(output, ".csv");
    const std::vector<std::uint32_t> attempts = attempts_of(paths);
    if (attempts.empty()) {
        return false;
    }
    const std::filesystem::path heartbeat = heartbeat_file(paths.attempt(attempts.back()));
    std::error_code gone;  // removed meanwhile
    std::filesystem::last_write_time(heartbeat, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1),
                                     gone);
    return !gone;
}

std::vector<std::string> salted(std::uint64_t salt) {
    return salt == 0 ? std::vector<std::string>() : std::vector{fmt::format("result::*=salt:{}", salt)};
}

void expect(Tally& tally, const std::string& story, const char* who, int code, const std::set<int>& allowed,
            const Job& job) {
    ++tally.counts[fmt::format("{} ends with {}", who, code)];
    if (!allowed.contains(code)) {
        tally.problems.push_back(fmt::format("{}: {} has exit code {}: {}", story, who, code, job.log()));
    }
}

}  // namespace

Tally overlap_attempts(const Setting& setting, std::uint64_t overlaps) {
    Tally tally{.name = "overlaps"};
    const Instant begin = Clock::now();
    std::mt19937_64 random(setting.seed);
    const bool salts = setting.job.options().has_faults;
    std::vector<std::string> references{undisturbed(setting.job)};
    const Instant timed = Clock::now();
    for (std::uint64_t salt = 1; salts && salt < different_results; ++salt) {
        references.push_back(undisturbed(setting.job, salt));
    }
    const auto longest = std::chrono::duration_cast<milliseconds>(timed - begin) / 2;
    for (std::uint64_t round = 0; tally.counts["overlaps"] < overlaps && tally.good(); ++round) {
        const std::filesystem::path output = setting.job.folder() / fmt::format("overlap-{}.csv", round);
        const bool at_once = random() % 2 == 0;
        const milliseconds delay(random() % static_cast<std::uint64_t>(longest.count() + 1));
        const std::string story = fmt::format("seed {}, round {}, stopped after {} ms, continues {}", setting.seed,
                                              round, delay.count(), at_once ? "at once" : "after its successor");
        Attempt zombie(setting.job.command({.output = output}));
        if (!zombie.ended_within(delay)) {
            zombie.send(SIGSTOP);
            ++tally.counts[silence(output) ? "overlaps" : "stopped before it began"];
        }
        Attempt successor(setting.job.command({.output = output, .faults = salted(salts ? 1 : 0)}));
        if (at_once) {
            zombie.send(SIGCONT);
        }
        expect(tally, story, "successor", successor.wait(), {0, 79, 83}, setting.job);
        const bool complete = std::filesystem::exists(run_paths(output, ".csv").manifest());
        const std::string before = contents_of(output);
        zombie.send(SIGCONT);
        expect(tally, story, "zombie", zombie.wait(), {0, 79, 83}, setting.job);
        Attempt last(setting.job.command({.output = output, .faults = salted(salts ? 2 : 0)}));
        expect(tally, story, "last", last.wait(), {0}, setting.job);
        if (complete && contents_of(output) != before) {
            tally.problems.push_back(story + ": a complete output has changed");
        }
        inspect_into(tally, setting.job, output, references, story);
        setting.progress(tally);
    }
    tally.counts["different results"] = references.size();
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

}  // namespace sluice::torture

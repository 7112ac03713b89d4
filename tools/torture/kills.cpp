#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "core/clock.hpp"
#include "tools/torture/campaigns.hpp"

namespace sluice::torture {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_death{30'000};  // of ranks whose mpirun is gone; usually 1.3 s
constexpr int in_use = 79;
constexpr int most_refusals = 100;

const char* place_of(const std::optional<std::uint64_t>& committed, std::uint64_t chunks) {
    if (!committed || *committed == 0) {
        return "kills before a commit";
    }
    return *committed < chunks ? "kills in the middle" : "kills at the end";
}

/// Runs attempts on one output, some of them killed, until it is complete.
class KilledRun {
public:
    KilledRun(const Setting& setting, const KillOptions& options, std::mt19937_64& random, Tally& tally,
              std::filesystem::path output)
        : setting_(setting), options_(options), random_(random), tally_(tally), output_(std::move(output)) {
        story_ = fmt::format("seed {}, {}:", setting.seed, output_.filename().native());
    }

    [[nodiscard]] const std::string& story() const noexcept { return story_; }

    /// Runs an attempt and kills it within `longest`; false if it ends before.
    bool attempt_and_kill(std::uint32_t depth, milliseconds longest) {
        Attempt attempt(start(depth));
        const milliseconds delay(random_() % static_cast<std::uint64_t>(longest.count() + 1));
        if (attempt.ended_within(delay)) {
            expect_success(attempt.wait());
            return false;
        }
        kill(attempt, delay);
        const int code = attempt.wait();
        for (const Watch& rank : ranks_) {
            if (!rank.ended_within(longest_death)) {
                tally_.problems.push_back(story_ + " a rank outlives its launcher");
            }
        }
        ranks_.clear();
        complete_ = code == 0;  // it was done before it died
        return true;
    }

    /// Runs undisturbed; true if the output is complete.
    bool finish(std::uint32_t depth) {
        for (int refusals = 0; !complete_ && refusals < most_refusals; ++refusals) {
            Attempt attempt(start(depth));
            const int code = attempt.wait();
            if (code != in_use) {
                expect_success(code);
                break;
            }
            ++tally_.counts["refused: another one lives"];
        }
        return complete_;
    }

    [[nodiscard]] bool complete() const noexcept { return complete_; }

private:
    [[nodiscard]] Attempt::Command start(std::uint32_t depth) {
        const int ranks = options_.ranks[random_() % options_.ranks.size()];
        Start start{.output = output_, .ranks = ranks, .depth = depth};
        if (options_.requeued) {
            start.variables = {"SLURM_JOB_ID=4711", fmt::format("SLURM_RESTART_COUNT={}", restarts_++)};
        }
        story_ += fmt::format(" {} ranks", ranks);
        ++tally_.counts["attempts"];
        return setting_.job.command(start);
    }

    void kill(const Attempt& attempt, milliseconds delay) {
        const std::vector<pid_t> ranks = attempt.children();
        for (const pid_t rank : ranks) {
            ranks_.emplace_back(rank);
        }
        const auto committed = committed_chunks(output_);
        const std::uint64_t choice = ranks.empty() ? 2 : random_() % 3;
        const char* victim = "the launcher";
        if (choice == 0) {
            victim = "a rank";
            ::kill(ranks[random_() % ranks.size()], SIGKILL);
        } else if (choice == 1) {
            victim = "all ranks";
            std::for_each(ranks.begin(), ranks.end(), [](pid_t rank) { ::kill(rank, SIGKILL); });
        } else {
            attempt.send(SIGKILL);
        }
        story_ += fmt::format(" killed {} after {} ms,", victim, delay.count());
        ++tally_.counts["kills"];
        ++tally_.counts[fmt::format("kills of {}", victim)];
        ++tally_.counts[place_of(committed, setting_.job.chunks())];
    }

    void expect_success(int code) {
        complete_ = code == 0;
        if (!complete_) {
            tally_.problems.push_back(
                fmt::format("{} an attempt that nobody killed has exit code {}: {}", story_, code, setting_.job.log()));
        }
    }

    const Setting& setting_;
    const KillOptions& options_;
    std::mt19937_64& random_;
    Tally& tally_;
    std::filesystem::path output_;
    std::string story_;
    std::vector<Watch> ranks_;
    std::uint64_t restarts_ = 0;
    bool complete_ = false;
};

/// Time of an undisturbed attempt.
milliseconds time_one(const Setting& setting, int ranks, const std::string& reference, Tally& tally) {
    const std::filesystem::path output = setting.job.folder() / "timed.csv";
    const Instant begin = Clock::now();
    Attempt attempt(setting.job.command({.output = output, .ranks = ranks}));
    if (attempt.wait() != 0) {
        tally.problems.push_back("an undisturbed attempt fails: " + setting.job.log());
    }
    const auto time = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    inspect_into(tally, setting.job, output, {reference}, "undisturbed");
    return time;
}

}  // namespace

Tally kill_at_random(const Setting& setting, const KillOptions& options) {
    constexpr std::uint64_t most_kills_of_a_run = 5;
    Tally tally{.name = options.requeued ? "kills, requeued" : "kills"};
    const Instant begin = Clock::now();
    std::mt19937_64 random(setting.seed);
    const std::string reference = undisturbed(setting.job);
    const int most_ranks = *std::max_element(options.ranks.begin(), options.ranks.end());
    const milliseconds longest = time_one(setting, most_ranks, reference, tally);
    for (std::uint64_t run = 0; tally.counts["kills"] < options.kills && tally.good(); ++run) {
        KilledRun killed(setting, options, random, tally, setting.job.folder() / fmt::format("run-{}.csv", run));
        const std::uint64_t kills = 1 + random() % most_kills_of_a_run;
        for (std::uint64_t done = 0; done < kills && !killed.complete() && tally.counts["kills"] < options.kills;) {
            done += killed.attempt_and_kill(2, longest) ? 1 : 0;
            setting.progress(tally);
        }
        if (killed.finish(2)) {
            inspect_into(tally, setting.job, setting.job.folder() / fmt::format("run-{}.csv", run), {reference},
                         killed.story());
        }
        ++tally.counts["runs"];
        setting.progress(tally);
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

Tally vary_sizes(const Setting& setting, const std::vector<int>& ranks) {
    Tally tally{.name = "sizes"};
    const Instant begin = Clock::now();
    std::mt19937_64 random(setting.seed);
    const std::string reference = undisturbed(setting.job);
    for (const int size : ranks) {
        const KillOptions options{.kills = 0, .ranks = {size}, .requeued = false};
        const milliseconds longest = time_one(setting, size, reference, tally);
        for (const std::uint32_t depth : {1U, 2U, 4U}) {
            for (const std::uint64_t kills : {0U, 1U, 5U}) {
                const std::filesystem::path output =
                    setting.job.folder() / fmt::format("size-{}-{}-{}.csv", size, depth, kills);
                KilledRun killed(setting, options, random, tally, output);
                for (std::uint64_t done = 0; done < kills && !killed.complete();) {
                    done += killed.attempt_and_kill(depth, longest) ? 1 : 0;
                }
                if (killed.finish(depth)) {
                    inspect_into(tally, setting.job, output, {reference}, killed.story());
                }
                ++tally.counts["runs"];
                setting.progress(tally);
            }
        }
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

}  // namespace sluice::torture

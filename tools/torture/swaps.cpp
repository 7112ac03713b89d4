#include <fmt/format.h>
#include <signal.h>

#include <array>

#include "core/clock.hpp"
#include "core/commit/manifest.hpp"
#include "core/error.hpp"
#include "tools/torture/campaigns.hpp"
#include "tools/torture/swapped_input.hpp"

namespace sluice::torture {
namespace {

using std::chrono::milliseconds;

constexpr int bad_data = 65;
constexpr int another_job = 78;
constexpr int in_use = 79;
constexpr int most_refusals = 100;
constexpr std::array kinds{Swap::rename, Swap::copy_over, Swap::truncate};
constexpr const char* no_points = "the program obeys no faults: give --sluice the program sluice_with_faults";

struct Plan {
    const SwappedInput& input;
    Swap how;
    int ranks = 0;
    bool resumed = false;  // the attempt continues an earlier one's committed output
};

/// One output from an input swapped during the run.
class SwappedRun {
public:
    SwappedRun(const Setting& setting, const Plan& plan, const std::string& name, Tally& tally)
        : setting_(setting),
          plan_(plan),
          tally_(tally),
          input_(setting.job.folder() / fmt::format("{}.{}", name, plan.input.extension())),
          start_{.output = setting.job.folder() / (name + ".csv"),
                 .ranks = plan.ranks,
                 .settings = {"input.path=" + input_.native()}},
          story_(fmt::format("seed {}, {}: {} of a .{}, {} ranks{}", setting.seed, name, name_of(plan.how),
                             plan.input.extension(), plan.ranks, plan.resumed ? ", resumed" : "")) {
        plan.input.put(0, input_);
        if (plan.resumed) {
            Attempt first(command({"data.synced:0:4=kill"}));
            if (first.wait() == 0 || recorded_input(start_.output) != plan.input.contents()[0].stamp) {
                problem("the attempt before was not killed");
            }
        }
    }

    void swap_after(milliseconds delay, std::mt19937_64& random) {
        story_ += fmt::format(", after {} ms", delay.count());
        Attempt attempt(command({}));
        static_cast<void>(attempt.ended_within(delay));
        swap(random);
        judge(attempt.wait());
    }

    /// False if the attempt has fewer points.
    bool swap_at(std::uint64_t nth, std::mt19937_64& random) {
        story_ += fmt::format(", at point {}", nth);
        Attempt attempt(command({fmt::format("any:0:{}=stop", nth)}));
        const bool stops = attempt.stops();
        if (stops) {
            swap(random);
        }
        attempt.send(SIGCONT);
        judge(attempt.wait());
        return stops;
    }

    /// Runs the same command with the current input and, if refused, with the one named in job.json.
    void finish() {
        if (!complete_) {
            judge(run_again());
        }
        if (!complete_) {
            plan_.input.put(index_of(recorded_input(start_.output)).value_or(0), input_);
            judge(run_again());
            if (!complete_) {
                problem("does not continue with the input that job.json names");
            }
        }
        if (tally_.problems.empty()) {
            remove_output(start_.output);
            std::filesystem::remove(input_);
        }
    }

private:
    [[nodiscard]] Attempt::Command command(std::vector<std::string> faults) const {
        Start start = start_;
        start.faults = std::move(faults);
        return setting_.job.command(start);
    }

    void swap(std::mt19937_64& random) {
        plan_.input.swap(plan_.how, input_, random);
        ++tally_.counts["swaps"];
        ++tally_.counts[fmt::format("swaps by {}", name_of(plan_.how))];
    }

    int run_again() {
        int code = in_use;
        for (int i = 0; code == in_use && i < most_refusals; ++i) {
            Attempt attempt(command({}));
            code = attempt.wait();
        }
        return code;
    }

    /// Index of the content with that stamp.
    [[nodiscard]] std::optional<std::size_t> index_of(const std::string& stamp) const {
        for (std::size_t i = 0; i < plan_.input.contents().size(); ++i) {
            if (plan_.input.contents()[i].stamp == stamp) {
                return i;
            }
        }
        return std::nullopt;
    }

    void judge(int code) {
        const bool is_there = std::filesystem::exists(run_paths(start_.output, ".csv").manifest());
        if (code == 0 && is_there) {
            complete_ = true;
            judge_output();
        } else if (is_there || (code != bad_data && code != another_job && code != in_use)) {
            problem(fmt::format("exit code {}, {} output: {}", code, is_there ? "an" : "no", setting_.job.log()));
        } else {
            ++tally_.counts[fmt::format("refused with {}", code)];
        }
    }

    void judge_output() {
        const std::string text = contents_of(start_.output);
        for (const Content& content : plan_.input.contents()) {
            if (text != content.output) {
                continue;
            }
            ++tally_.counts[fmt::format("outputs of {}", content.name)];
            if (recorded_input(start_.output) != content.stamp) {
                problem(fmt::format("an output of {}, but job.json has another input", content.name));
            }
            if (!verify_output(run_paths(start_.output, ".csv")).problems.empty()) {
                problem("verify finds damage");
            }
            return;
        }
        tally_.damage.different += setting_.job.options().items;
        problem("an output of no single input");
    }

    void problem(const std::string& what) { tally_.problems.push_back(fmt::format("{}: {}", story_, what)); }

    const Setting& setting_;
    Plan plan_;
    Tally& tally_;
    std::filesystem::path input_;
    Start start_;
    std::string story_;
    bool complete_ = false;
};

/// Inputs of each format. A problem if two contents have the same stamp in job.json.
std::vector<SwappedInput> make_inputs(const Job& job, Tally& tally) {
    std::vector<SwappedInput> inputs;
    for (const char* extension : {"txt", "u8"}) {
        inputs.emplace_back(job, extension);
        const std::vector<Content>& contents = inputs.back().contents();
        if (contents[0].stamp == contents[1].stamp || contents[0].output == contents[1].output) {
            tally.problems.push_back(fmt::format(
                "two .{} of one size and time: job.json says '{}' of both, and their "
                "outputs {}",
                extension, contents[0].stamp, contents[0].output == contents[1].output ? "are the same" : "differ"));
        }
    }
    return inputs;
}

/// Time of an undisturbed attempt.
milliseconds time_one(const Setting& setting, int ranks) {
    const std::filesystem::path output = setting.job.folder() / "timed.csv";
    const Instant begin = Clock::now();
    Attempt attempt(setting.job.command({.output = output, .ranks = ranks}));
    static_cast<void>(attempt.wait());
    const auto time = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    remove_output(output);
    return time;
}

}  // namespace

Tally swap_at_random(const Setting& setting, const SwapOptions& options) {
    Tally tally{.name = "swaps"};
    if (!setting.job.options().has_faults) {
        tally.skipped = no_points;
        return tally;
    }
    const Instant begin = Clock::now();
    std::mt19937_64 random(setting.seed);
    const std::vector<SwappedInput> inputs = make_inputs(setting.job, tally);
    const std::array ranks{0, options.ranks};
    const std::array longest{time_one(setting, 0), time_one(setting, options.ranks)};
    for (std::uint64_t round = 0; round < options.swaps; ++round) {
        for (const Swap how : kinds) {
            const std::size_t world = round % 2;
            const Plan plan{
                .input = inputs[round / 4 % 2], .how = how, .ranks = ranks[world], .resumed = round / 2 % 2 == 1};
            SwappedRun run(setting, plan, fmt::format("swap-{}-{}", round, name_of(how)), tally);
            const auto most = static_cast<std::uint64_t>(longest[world].count());
            run.swap_after(milliseconds(random() % (most + 1)), random);
            run.finish();
            ++tally.counts["runs"];
            setting.progress(tally);
        }
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

Tally swap_at_points(const Setting& setting, std::uint64_t stride) {
    Tally tally{.name = "swaps at points"};
    if (!setting.job.options().has_faults) {
        tally.skipped = no_points;
        return tally;
    }
    const Instant begin = Clock::now();
    std::mt19937_64 random(setting.seed);
    const std::vector<SwappedInput> inputs = make_inputs(setting.job, tally);
    std::uint64_t round = 0;
    bool met = true;
    for (std::uint64_t nth = 1; met; nth += stride) {
        for (const SwappedInput& input : inputs) {
            const Plan plan{.input = input, .how = kinds[round % kinds.size()], .resumed = round / 2 % 2 == 1};
            ++round;
            SwappedRun run(setting, plan, fmt::format("swap-{}-{}", nth, input.extension()), tally);
            met = run.swap_at(nth, random);
            run.finish();
            ++tally.counts["runs"];
            setting.progress(tally);
        }
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

}  // namespace sluice::torture

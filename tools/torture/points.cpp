#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <functional>
#include <set>
#include <string_view>

#include "core/clock.hpp"
#include "core/commit/attempt_folder.hpp"
#include "tools/torture/campaigns.hpp"

namespace sluice::torture {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds look_for_attempt_every{1};
constexpr std::uint64_t beyond_all = 1'000'000;  // beyond the last point: nothing happens
constexpr const char* no_points = "the program obeys no faults: give --sluice the program sluice_with_faults";

std::uint32_t newest_attempt(const std::filesystem::path& output) {
    const std::vector<std::uint32_t> attempts = attempts_of(run_paths(output, ".csv"));
    return attempts.empty() ? 0 : attempts.back();
}

/// Sets the age of the attempt's last heartbeat. Does nothing if it was removed meanwhile.
void set_last_sign(const std::filesystem::path& output, std::uint32_t attempt, std::chrono::hours ago) {
    std::error_code gone;
    std::filesystem::last_write_time(heartbeat_file(run_paths(output, ".csv").attempt(attempt)),
                                     std::filesystem::file_time_type::clock::now() - ago, gone);
}

/// The complete output, with manifest, which must not change.
std::string complete_output(const std::filesystem::path& output) {
    const std::string manifest = contents_of(run_paths(output, ".csv").manifest());
    return manifest.empty() ? std::string() : manifest + contents_of(output);
}

/// Acts at one fault point of a single attempt, in a separate run.
class Points {
public:
    Points(const Setting& setting, Tally& tally) : setting_(setting), tally_(tally) {}

    /// False if the attempt has fewer points.
    bool kill_at(std::uint64_t nth) {
        begin("kill", nth);
        Attempt first(start(0, fmt::format("any:0:{}=kill", nth)));
        const int code = first.wait();
        expect("first", code, {0, 128 + SIGKILL});
        if (code != 0) {
            ++tally_.counts["kills"];
            Attempt second(start(0));
            expect("second", second.wait(), {0});
        }
        end({reference(0)});
        return code != 0;
    }

    bool stop_at(std::uint64_t nth) {
        begin("stop", nth);
        Attempt zombie(start(0, fmt::format("any:0:{}=stop", nth)));
        const bool stopped = zombie.stops();
        const std::uint32_t attempt = newest_attempt(output_);
        if (stopped) {
            ++tally_.counts["stops"];
            set_last_sign(output_, attempt, std::chrono::hours(1));
        }
        Attempt successor(start(1));
        while (newest_attempt(output_) == attempt && !successor.ended_within(look_for_attempt_every)) {
        }
        set_last_sign(output_, attempt, std::chrono::hours(0));
        expect("successor", successor.wait(), {0});
        const std::string complete = complete_output(output_);
        zombie.send(SIGCONT);
        expect("zombie", zombie.wait(), {0, 83});
        Attempt last(start(2));
        expect("last", last.wait(), {0});
        if (!complete.empty() && complete_output(output_) != complete) {
            tally_.damage.manifest = "a complete output has changed";
            tally_.problems.push_back(fmt::format("{}: {}", story_, tally_.damage.manifest));
        }
        end({reference(0), reference(1), reference(2)});
        return stopped;
    }

private:
    void begin(std::string_view what, std::uint64_t nth) {
        story_ = fmt::format("{} at point {}", what, nth);
        output_ = setting_.job.folder() / fmt::format("{}-{}.csv", what, nth);
    }

    void end(const std::vector<std::string>& references) {
        inspect_into(tally_, setting_.job, output_, references, story_);
        setting_.progress(tally_);
    }

    [[nodiscard]] Attempt::Command start(std::uint64_t salt, const std::string& fault = {}) const {
        Start start{.output = output_};
        if (salt != 0) {
            start.faults.push_back(fmt::format("result::*=salt:{}", salt));
        }
        if (!fault.empty()) {
            start.faults.push_back(fault);
        }
        return setting_.job.command(start);
    }

    void expect(std::string_view who, int code, const std::set<int>& allowed) {
        if (!allowed.contains(code)) {
            tally_.problems.push_back(
                fmt::format("{}: the {} attempt has exit code {}: {}", story_, who, code, setting_.job.log()));
        }
    }

    const std::string& reference(std::size_t salt) {
        if (references_[salt].empty()) {
            references_[salt] = undisturbed(setting_.job, salt);
        }
        return references_[salt];
    }

    const Setting& setting_;
    Tally& tally_;
    std::array<std::string, 3> references_{};
    std::string story_{};
    std::filesystem::path output_{};
};

using Visit = bool (Points::*)(std::uint64_t);

Tally visit_all(const Setting& setting, std::string name, Visit visit) {
    Tally tally{.name = std::move(name)};
    if (!setting.job.options().has_faults) {
        tally.skipped = no_points;
        return tally;
    }
    const Instant begin = Clock::now();
    Points points(setting, tally);
    for (std::uint64_t nth = 1; tally.good() && (points.*visit)(nth); ++nth) {
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

/// Visits every `stride`-th point, then those between, until one does damage.
bool does_damage(Points& points, const Tally& found, Visit visit, std::uint64_t stride) {
    for (std::uint64_t first = stride; first > 0 && found.damage.none(); --first) {
        for (std::uint64_t nth = first; found.damage.none() && (points.*visit)(nth); nth += stride) {
        }
    }
    return !found.damage.none();
}

}  // namespace

Tally kill_at_points(const Setting& setting) {
    return visit_all(setting, "kills at fault points", &Points::kill_at);
}

Tally stop_at_points(const Setting& setting) {
    return visit_all(setting, "stops at fault points", &Points::stop_at);
}

Tally catch_wrong_order(const Setting& setting, std::uint64_t stride) {
    Tally tally{.name = "broken: " + setting.job.options().wrong_order};
    if (!setting.job.options().has_faults) {
        tally.skipped = no_points;
        return tally;
    }
    const Instant begin = Clock::now();
    Tally found{.name = tally.name};  // damage is expected here
    Points points(setting, found);
    static_cast<void>(points.kill_at(beyond_all));
    if (!found.good()) {
        tally.problems = found.problems;
        return tally;
    }
    // Kills expose one of the orders, overlaps the other two: start with the faster one.
    const bool by_kills = setting.job.options().wrong_order == "journal-first";
    const std::array<Visit, 2> visits{by_kills ? &Points::kill_at : &Points::stop_at,
                                      by_kills ? &Points::stop_at : &Points::kill_at};
    const bool caught = does_damage(points, found, visits[0], stride) || does_damage(points, found, visits[1], stride);
    tally.counts = found.counts;
    tally.counts["caught"] = caught ? 1 : 0;
    if (caught) {
        fmt::print("{}\n", found.problems.back());
    } else {
        tally.problems.push_back("no kill and no stop at a fault point has brought it to light");
    }
    tally.seconds = Seconds(Clock::now() - begin).count();
    return tally;
}

}  // namespace sluice::torture

#pragma once

#include <string>

#include "tests/core/commit/attempts.hpp"

namespace sluice::test {

// What must hold for every order in which attempts are killed, stopped and overlap. Each function returns the first
// problem that it meets, or an empty string. `attempt(folder, variant)` is a whole attempt, whose results depend on
// `variant`; it throws Error when it gives up.

/// Kills an attempt at its first fault point, at its second one and so on, each time in a run of its own, and lets the
/// next attempt finish. Adds the kills to `kills`.
template <class Attempt>
std::string problem_after_kills(OutputLayout layout, Attempt&& attempt, int& kills) {
    for (int nth = 1;; ++nth) {
        const RunFolder folder(small_job(layout));
        const std::string fault = fmt::format("any::{}=kill", nth);
        const ChildEnd end = attempt_with(fault, [&] { attempt(folder, 0); });
        if (end.exit_code == 0) {
            return {};  // it has fewer points than that
        }
        if (end.signal != SIGKILL) {
            return fmt::format("{}: exit code {}", fault, end.exit_code);
        }
        ++kills;
        if (const int code = attempt_with("", [&] { attempt(folder, 0); }).exit_code; code != 0) {
            return fmt::format("{}: the next attempt has exit code {}", fault, code);
        }
        if (const std::string problem = problem_of(folder); !problem.empty()) {
            return fmt::format("{}: {}", fault, problem);
        }
    }
}

/// Whether `text` is what attempts can make together: the header, then each chunk whole as one of them has made it.
inline std::string problem_of_mix(const FakeJob& job, std::string_view text, std::uint64_t first, std::uint64_t end,
                                  std::uint64_t items, std::uint64_t variants) {
    const std::string header = FakeJob::header(items);
    if (!text.starts_with(header)) {
        return "another header";
    }
    text.remove_prefix(header.size());
    for (std::uint64_t id = first; id < end; ++id) {
        std::size_t length = 0;
        for (std::uint64_t variant = 0; variant < variants && length == 0; ++variant) {
            const std::string chunk = job.chunk(id, variant);
            length = text.starts_with(chunk) ? chunk.size() : 0;
        }
        if (length == 0) {
            return fmt::format("chunk {} is no attempt's", id);
        }
        text.remove_prefix(length);
    }
    return text.empty() ? "" : "something follows the last chunk";
}

/// The manifest is true, and every chunk is whole and one attempt's.
inline std::string problem_of_mixes(const RunFolder& folder, std::uint64_t variants) {
    const Verification verification = verify_output(folder.paths());
    if (!verification.problems.empty()) {
        return verification.problems.front();
    }
    const FakeJob& job = folder.job();
    const PartPlan plan(job.grid(), job.chunks_per_part);
    const bool one_file = job.layout == OutputLayout::file;
    const std::vector<std::string> files = folder.published();
    for (std::uint32_t part = 0; part < files.size(); ++part) {
        const std::uint64_t end = one_file ? plan.grid().chunks() : plan.end_chunk(part);
        const std::uint64_t items = one_file ? plan.grid().items() : plan.items_of(part);
        const std::string problem = problem_of_mix(job, files[part], plan.first_chunk(part), end, items, variants);
        if (!problem.empty()) {
            return fmt::format("file {}: {}", part, problem);
        }
    }
    return {};
}

enum class Overlap {
    at_once,          ///< The stopped attempt continues beside its successor.
    after_successor,  ///< It continues when its successor has finished.
};

/// An attempt stops at fault point `nth`, a second one takes over, the first one continues; a third one finishes what
/// they have left, if anything. `results`: how many different results the three have, 1 or 3.
template <class Attempt>
std::string problem_of_overlap(const RunFolder& folder, std::uint64_t nth, Overlap overlap, std::uint64_t results,
                               Attempt&& attempt) {
    const auto bad_end = [](const ChildEnd& end) { return end.exit_code != 0 && end.exit_code != 83; };
    Child zombie([&] {
        arm_fault(fmt::format("any::{}=stop", nth));
        attempt(folder, 0);
    });
    bool stopped = zombie.wait_for_end_or_stop().stopped;
    Child successor([&] { attempt(folder, 1 % results); });
    if (stopped && overlap == Overlap::at_once) {
        zombie.send(SIGCONT);
    }
    if (const ChildEnd end = successor.wait(); bad_end(end)) {
        return fmt::format("the successor has exit code {}, signal {}", end.exit_code, end.signal);
    }
    const bool complete = std::filesystem::exists(folder.paths().manifest());
    const std::string manifest = contents(folder.paths().manifest());
    const std::vector<std::string> files = folder.published();
    if (stopped) {
        zombie.send(SIGCONT);
        if (const ChildEnd end = zombie.wait(); bad_end(end)) {
            return fmt::format("the zombie has exit code {}, signal {}", end.exit_code, end.signal);
        }
    }
    if (const int code = attempt_with("", [&] { attempt(folder, 2 % results); }).exit_code; code != 0) {
        return fmt::format("the last attempt has exit code {}", code);
    }
    if (complete && (contents(folder.paths().manifest()) != manifest || folder.published() != files)) {
        return "a complete output has changed";
    }
    return results == 1 ? problem_of(folder) : problem_of_mixes(folder, results);
}

/// The same in `rounds` runs of their own, stopped anywhere. Adds them to `overlaps`.
template <class Attempt>
std::string problem_with_zombies(OutputLayout layout, std::uint64_t results, int rounds, std::uint64_t seed,
                                 Attempt&& attempt) {
    std::mt19937_64 random(seed);
    const RunFolder trial(small_job(layout));
    const std::uint64_t points = points_of([&] { attempt(trial, 0); });
    for (int round = 0; round < rounds; ++round) {
        const RunFolder folder(small_job(layout));
        const std::uint64_t nth = 1 + random() % points;
        const Overlap overlap = random() % 2 == 0 ? Overlap::at_once : Overlap::after_successor;
        if (const std::string problem = problem_of_overlap(folder, nth, overlap, results, attempt); !problem.empty()) {
            return fmt::format("seed {}, round {}, stopped at point {}, {}: {}", seed, round, nth,
                               overlap == Overlap::at_once ? "at once" : "after its successor", problem);
        }
    }
    return {};
}

}  // namespace sluice::test

#include <gtest/gtest.h>

#include <set>

#include "tests/core/commit/attempts.hpp"
#include "tests/core/commit/lossy_disk.hpp"
#include "tests/support/kept_effects.hpp"

namespace sluice::test {
namespace {

/// What an attempt has done to the disk, and what it has said.
struct Story {
    std::vector<FileEffect> effects{};
    std::map<std::size_t, std::uint64_t>
        committed{};           ///< By number of effects: chunks that are committed from there on.
    std::size_t complete = 0;  ///< The run is complete from there on; 0: never.
};

FakeJob tiny_job(OutputLayout layout) {
    return {.layout = layout, .items = 20, .chunk_items = 4, .chunks_per_part = 2};
}

CommittedOutputOptions options_of(const RunFolder& folder) {
    CommittedOutputOptions options = folder.options(1);
    options.alive_within = std::chrono::seconds(0);
    return options;
}

/// An attempt that ends where `fault` makes it fail; "": nowhere. True: it did.
bool attempt(const RunFolder& folder, const std::string& fault, Story& story, CommittedOutputOptions options) {
    if (fault.empty()) {
        disarm_faults();
    } else {
        arm_fault(fault);
    }
    bool ended = false;
    try {
        CommittedOutput run(std::move(options));
        for (std::uint64_t id = run.complete() ? folder.job().grid().chunks() : run.first_chunk();
             id < folder.job().grid().chunks(); ++id) {
            append_until(run, folder.job(), id + 1);
            story.committed[count_kept_effects()] = run.chunks_committed();
        }
        if (!run.complete()) {
            run.publish();
        }
        if (story.complete == 0) {
            story.complete = count_kept_effects();
        }
    } catch (const Error& error) {
        EXPECT_FALSE(fault.empty()) << error.what();
        ended = true;
    }
    return ended;
}

bool attempt(const RunFolder& folder, const std::string& fault, Story& story) {
    return attempt(folder, fault, story, options_of(folder));
}

/// Makes `tree` what the power left, and lets the next attempt continue. Empty: it does, and everything that was said
/// before holds.
std::string problem_after(const LossyDisk::Tree& tree, const FakeJob& job, std::uint64_t committed, bool complete) {
    const RunFolder folder(job);
    make_tree(tree, folder.path());
    try {
        CommittedOutput run(options_of(folder));
        if (complete && !run.complete()) {
            return "an output that was complete is not any more";
        }
        if (!run.complete() && run.first_chunk() < committed) {
            return fmt::format("{} chunks were committed, {} are left", committed, run.first_chunk());
        }
        if (!run.complete()) {
            append_until(run, job, job.grid().chunks());
            run.publish();
        }
    } catch (const Error& error) {
        return error.what();
    }
    return problem_of(folder);
}

/// The first problem after a loss of power at any moment of the story; `all`: with every choice of what is lost, else
/// with everything lost that was not synced.
std::string problem_of_story(const Story& story, const RunFolder& folder, bool all, int& states) {
    LossyDisk disk(folder.path());
    std::set<LossyDisk::Tree> seen;
    std::uint64_t committed = 0;
    for (std::size_t moment = 0; moment <= story.effects.size(); ++moment) {
        if (const auto said = story.committed.find(moment); said != story.committed.end()) {
            committed = std::max(committed, said->second);
            seen.clear();
        }
        const bool complete = story.complete != 0 && moment >= story.complete;
        for (const LossyDisk::Tree& tree : all ? disk.states() : std::vector{disk.least()}) {
            if (!seen.insert(tree).second && moment != story.complete) {
                continue;
            }
            ++states;
            if (const std::string problem = problem_after(tree, folder.job(), committed, complete); !problem.empty()) {
                return fmt::format("power lost after {} of {} effects: {}", moment, story.effects.size(), problem);
            }
        }
        if (moment < story.effects.size()) {
            disk.apply(story.effects[moment]);
        }
    }
    return {};
}

class PowerLoss : public testing::TestWithParam<OutputLayout> {
protected:
    PowerLoss() { start_keeping_effects(); }
    ~PowerLoss() override {
        stop_keeping_effects();
        disarm_faults();
    }

    /// The first problem when power is lost during one whole attempt, in which `fault` happens and is no failure.
    std::string problem_during_an_attempt(const std::string& fault, int& states) const {
        return problem_during_an_attempt(fault, states, options_of(folder_));
    }
    std::string problem_during_an_attempt(const std::string& fault, int& states, CommittedOutputOptions options) const {
        Story story;
        attempt(folder_, fault, story, std::move(options));
        EXPECT_GT(story.complete, 0U);
        story.effects = kept_effects();
        stop_keeping_effects();
        return problem_of_story(story, folder_, true, states);
    }

    RunFolder folder_{tiny_job(GetParam())};
};

TEST_P(PowerLoss, AtAnyMomentTakesNothingThatWasSaidToBeThere) {
    int states = 0;

    EXPECT_EQ(problem_during_an_attempt("", states), "");

    RecordProperty("states", states);
    EXPECT_GT(states, 60);
}

TEST_P(PowerLoss, TakesNothingFromAnAttemptThatBeganBeforeItsItemsWereCounted) {
    CommittedOutputOptions options = options_of(folder_);
    options.count = [items = options.items](UntilCounted) { return std::optional(CountedItems{.items = items}); };
    options.items += 7;
    int states = 0;

    EXPECT_EQ(problem_during_an_attempt("", states, std::move(options)), "");

    EXPECT_GT(states, 60);
}

TEST_P(PowerLoss, TakesNothingWhereThereAreNoHardLinks) {
    int states = 0;

    EXPECT_EQ(problem_during_an_attempt("link::*=errno:EPERM", states), "");

    EXPECT_GT(states, 60);
}

/// What no output depends on: who owns an attempt, which dies with the power, the list of what was adopted, which is
/// for people, and what the next step or the attempt before has synced. `times`: counted from 0.
bool is_needed(const FileEffect& sync, const RunFolder& folder, int times, bool goes_on) {
    const RunPaths paths = folder.paths();
    const std::string path = sync.path.native();
    const bool tells_only = path.find("owner.json") != std::string::npos ||
                            path.find("adopt.json") != std::string::npos || path.find(".new-") != std::string::npos;
    const bool is_attempt = sync.path.parent_path() == paths.attempts();
    const bool is_around = sync.path == folder.path() || sync.path == paths.output;
    return !tells_only && !(sync.path == paths.run_folder() && times == 0) &&
           !(is_attempt && times < (goes_on ? 1 : 2)) && !(is_around && goes_on && times == 0);
}

/// An attempt that ends with a whole part and half of one committed.
Story first_half(const RunFolder& folder) {
    for (int nth = 1;; ++nth) {
        const RunFolder trial(folder.job());
        Story story;
        start_keeping_effects();
        const std::string fault = fmt::format("write::{}=errno:ENOSPC", nth);
        if (!attempt(trial, fault, story) || (!story.committed.empty() && story.committed.rbegin()->second == 3)) {
            story = {};
            start_keeping_effects();
            attempt(folder, fault, story);
            return story;
        }
    }
}

// What the attempt before had committed is there as well, whatever of its data is removed meanwhile.
TEST_P(PowerLoss, TakesNothingFromAnAttemptThatGoesOn) {
    Story story = first_half(folder_);
    attempt(folder_, "", story);
    ASSERT_GT(story.complete, 0U);
    story.effects = kept_effects();
    stop_keeping_effects();
    int states = 0;

    EXPECT_EQ(problem_of_story(story, folder_, true, states), "");

    EXPECT_GT(states, 60);
}

class PowerLossWithoutASync : public PowerLoss {
protected:
    /// Leaves out each sync from effect `begin` on, one at a time. Returns how many were needed, and fails for one that
    /// was not.
    int leave_out_each(Story story, std::size_t begin) const {
        const std::vector<FileEffect> effects = kept_effects();
        stop_keeping_effects();
        int needed = 0;
        std::map<std::filesystem::path, int> times;
        for (std::size_t at = begin; at < effects.size(); ++at) {
            const FileEffect& effect = effects[at];
            const bool is_sync = effect.kind == FileEffect::Kind::sync || effect.kind == FileEffect::Kind::sync_folder;
            if (!is_sync || !is_needed(effect, folder_, times[effect.path]++, begin != 0)) {
                continue;
            }
            story.effects = effects;
            story.effects[at] = {.kind = FileEffect::Kind::sync_folder, .path = "/"};  // nothing of ours
            int states = 0;
            EXPECT_TRUE(problem_of_story(story, folder_, false, states) != "" ||
                        problem_of_story(story, folder_, true, states) != "")
                << at << " " << effect.path;
            ++needed;
        }
        return needed;
    }
};

// Each sync is there for a reason: without it, there is a loss of power that takes what was said to be there.
TEST_P(PowerLossWithoutASync, TakesSomethingFromAFirstAttempt) {
    Story story;
    attempt(folder_, "", story);

    EXPECT_GT(leave_out_each(story, 0), 10);
}

TEST_P(PowerLossWithoutASync, TakesSomethingFromAnAttemptThatGoesOn) {
    Story story = first_half(folder_);
    const std::size_t begin = count_kept_effects();
    attempt(folder_, "", story);

    EXPECT_GT(leave_out_each(story, begin), 5);
}

// The next attempt relies on nothing that a failed one was about to make durable.
TEST_P(PowerLoss, AfterAFailedAttemptTakesNothingEither) {
    int failures = 0;
    for (const char* call : {"fsync", "fdatasync", "mkdir", "link", "renameat2", "rename", "unlink"}) {
        bool met = true;
        for (int nth = 1; met; ++nth) {
            const RunFolder folder(tiny_job(GetParam()));
            const std::string fault = fmt::format("{}::{}=errno:EIO", call, nth);
            Story story;
            start_keeping_effects();
            attempt(folder, fault, story);
            met = times_met(call) >= static_cast<std::uint64_t>(nth);
            attempt(folder, "", story);
            ASSERT_GT(story.complete, 0U) << fault;
            story.effects = kept_effects();
            stop_keeping_effects();
            int states = 0;
            ASSERT_EQ(problem_of_story(story, folder, false, states), "") << fault;
            failures += met ? 1 : 0;
        }
    }
    EXPECT_GT(failures, 30);
}

INSTANTIATE_TEST_SUITE_P(Layouts, PowerLoss, testing::Values(OutputLayout::file, OutputLayout::folder), name_of);
INSTANTIATE_TEST_SUITE_P(Layouts, PowerLossWithoutASync, testing::Values(OutputLayout::file, OutputLayout::folder),
                         name_of);

}  // namespace
}  // namespace sluice::test

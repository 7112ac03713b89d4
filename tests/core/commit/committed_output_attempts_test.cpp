#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commit/attempt_history.hpp"
#include "core/commit/file.hpp"
#include "tests/core/commit/attempts.hpp"
#include "tests/core/commit/committed_output_run.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CommittedOutputAttempts : public CommittedOutputRun {
protected:
    /// A process in which the nth call fails, if there are as many.
    static ChildEnd begin_with_failing_call(int nth, const RunFolder& folder) {
        return attempt_with(fmt::format("call::{}=errno:ENOSPC", nth), [&] {
            const CommittedOutput run(folder.options());
            ::_exit(calls_met() < static_cast<std::uint64_t>(nth) ? nothing_failed : 0);
        });
    }
};

TEST_P(CommittedOutputAttempts, GoesOnAfterAKillAtOnceAndFromWhatWasCommitted) {
    be_killed_after(7);

    CommittedOutput run(run_.options());
    EXPECT_EQ(run.first_chunk(), 7U);
    EXPECT_EQ(run.attempt(), 2U);
    EXPECT_THAT(run.dropped(), IsEmpty());
    append_until(run, run_.job(), run_.job().grid().chunks());
    run.publish();

    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(CommittedOutputAttempts, KeepsEarlierDataOfWhichItCouldNotTakeAll) {
    be_killed_after(8);  // two parts, both sealed
    const std::filesystem::path first = part_file(run_.paths().attempt(1), 0);
    const std::string intact = contents(first);
    write_file(first, "x" + intact.substr(1));
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    options.verify = ResumeVerify::all;

    {
        const CommittedOutput run(options);
        EXPECT_EQ(run.first_chunk(), 4U) << "only the header of the first part is damaged";
        EXPECT_EQ(run.damaged_parts().size(), 1U);
        EXPECT_THAT(run.dropped(), IsEmpty());
    }

    EXPECT_EQ(CommittedOutput(options).first_chunk(), 8U) << "the second part is still there";
}

// Three deaths in a row would end the run.
TEST_P(CommittedOutputAttempts, ThatCannotBeginHaveNotDied) {
    int failures = 0;
    bool all = false;
    for (int nth = 1; !all; ++nth) {
        const RunFolder folder(FakeJob{.layout = GetParam()});
        be_killed_after(2, folder);

        const ChildEnd end = begin_with_failing_call(nth, folder);

        all = end.exit_code == nothing_failed;
        if (end.exit_code == 74 && attempts_of(folder.paths()).back() == 2) {
            ++failures;
            EXPECT_FALSE(read_attempt(folder.paths(), 2).died) << nth;
            EXPECT_EQ(read_attempt(folder.paths(), 2).code, 74) << nth;
        }
    }
    EXPECT_GT(failures, 10);
}

TEST_P(CommittedOutputAttempts, ThatAreTheFirstAndCannotBeginLeaveNoAttempt) {
    bool all = false;
    for (int nth = 1; !all; ++nth) {
        const RunFolder folder(FakeJob{.layout = GetParam()});

        const ChildEnd end = begin_with_failing_call(nth, folder);

        all = end.exit_code == nothing_failed;
        EXPECT_TRUE(end.exit_code != 74 || attempts_of(folder.paths()).empty()) << nth;
    }
}

// The second attempt was stopped for so long that it was thought dead, before it removed what it had taken over.
TEST_P(CommittedOutputAttempts, LeavesEarlierDataToTheNewerAttempt) {
    be_killed_after(3);
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    Child second([&] {
        arm_fault("adopt.copied=stop");
        const CommittedOutput run(options);
    });
    ASSERT_TRUE(second.wait_for_end_or_stop().stopped);
    Child third([&] {
        arm_fault("adopt.listed=stop");
        CommittedOutput run(options);
        expects(run.first_chunk() == 3, "what the first attempt had committed is there");
    });
    ASSERT_TRUE(third.wait_for_end_or_stop().stopped);

    second.send(SIGCONT);
    static_cast<void>(second.wait());
    third.send(SIGCONT);

    EXPECT_EQ(third.wait().exit_code, 0);
}

// As if the first attempt had removed job.json in the very moment in which the second one began.
TEST_P(CommittedOutputAttempts, TakesNothingOverFromAnotherJobAndWritesDownItsOwn) {
    CommittedOutputOptions other = run_.options();
    other.settings[0].second = "another";
    Child child([&] {
        other.me = this_process("", 0);
        CommittedOutput first(other);
        append_until(first, run_.job(), 2, 1);
        first.commit();
        ::raise(SIGKILL);
    });
    ASSERT_EQ(child.wait().signal, SIGKILL);
    std::filesystem::remove(run_.paths().identity());

    CommittedOutput run(run_.options());

    EXPECT_EQ(run.first_chunk(), 0U);
    EXPECT_THAT(run.dropped(), ElementsAre("attempt 1 is ignored: its owner.json is another run's"));
    std::filesystem::remove(run_.paths().identity());
    append_until(run, run_.job(), run_.job().grid().chunks());
    run.publish();
    EXPECT_EQ(run_.published(), run_.job().files());
    EXPECT_TRUE(std::filesystem::exists(run_.paths().identity()));
}

TEST_P(CommittedOutputAttempts, RemovesTheDataOfAttemptsThatItHasTakenOver) {
    be_killed_after(6);
    write_file(run_.paths().attempt(1) / "whole.bin", "half of it");

    CommittedOutput run(run_.options());

    EXPECT_EQ(run.first_chunk(), 6U);
    EXPECT_THAT(names_in_folder(run_.paths().attempt(1)), ElementsAre("adopt.json", "alive", "owner.json", "w0.jrn"));
    EXPECT_THAT(run.warnings(), IsEmpty());
}

// It runs on another host, and sends heartbeats again after a pause.
TEST_P(CommittedOutputAttempts, LeavesTheFolderOfALivingAttemptAlone) {
    CommittedOutputOptions options = run_.options();
    options.me.host = "another";
    CommittedOutput zombie(options);
    append_until(zombie, run_.job(), 2);
    const std::filesystem::path heartbeat = heartbeat_file(run_.paths().attempt(1));
    std::filesystem::last_write_time(heartbeat, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    CommittedOutput run(run_.options());
    append_until(run, run_.job(), run_.job().grid().chunks());
    std::filesystem::last_write_time(heartbeat, std::filesystem::file_time_type::clock::now());
    run.publish();

    EXPECT_TRUE(std::filesystem::exists(owner_file(run_.paths().attempt(1))));
    EXPECT_EQ(code_of([&] { zombie.commit(); }), "83 E-OUT-083");

    std::filesystem::last_write_time(heartbeat, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const CommittedOutput last(run_.options());
    EXPECT_TRUE(last.complete());
    EXPECT_FALSE(std::filesystem::exists(run_.paths().attempt(1)));
    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(CommittedOutputAttempts, LeavesNothingWhenItIsGivenUpEmpty) {
    {
        CommittedOutput run(run_.options());
        run.abandon_if_empty();
    }

    EXPECT_FALSE(std::filesystem::exists(run_.paths().run_folder()));
}

TEST_P(CommittedOutputAttempts, StaysWhenItIsGivenUpEmptyAfterADeath) {
    {
        CommittedOutput run(run_.options());
        note_lost_rank(run_.paths().attempt(1), 3, "rank 3 on n07 died: SIGSEGV", {});
        run.abandon_if_empty();
    }

    EXPECT_TRUE(has_lost_ranks(run_.paths().attempt(1)));
}

TEST_P(CommittedOutputAttempts, StaysWhenItIsGivenUpWithSomethingCommitted) {
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    {
        CommittedOutput run(options);
        append_until(run, run_.job(), 1);
        run.commit();
        run.abandon_if_empty();
    }

    EXPECT_EQ(CommittedOutput(options).first_chunk(), 1U);
}

// The first attempt was stopped for so long that it was thought dead, in the moment in which it gives up.
TEST_P(CommittedOutputAttempts, LeavesAnotherAttemptAloneThatBeginsWhileItIsGivenUp) {
    Child first([&] {
        arm_fault("abandon=stop");
        CommittedOutput run(run_.options());
        run.abandon_if_empty();
    });
    ASSERT_TRUE(first.wait_for_end_or_stop().stopped);
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    {
        CommittedOutput second(options);
        append_until(second, run_.job(), 2);
        second.commit();
        first.send(SIGCONT);
        EXPECT_EQ(first.wait().exit_code, 0);
        EXPECT_TRUE(std::filesystem::exists(run_.paths().identity()));
    }
    CommittedOutput third(options);

    EXPECT_EQ(third.first_chunk(), 2U);
    append_until(third, run_.job(), run_.job().grid().chunks());
    third.publish();
    EXPECT_EQ(run_.published(), run_.job().files());
    EXPECT_TRUE(std::filesystem::exists(run_.paths().identity()));
}

// The same, but the other attempt begins and finishes meanwhile.
TEST_P(CommittedOutputAttempts, LeavesAnotherRunWholeThatFinishesWhileItIsGivenUp) {
    for (const char* const where : {"abandon", "abandoned"}) {
        const RunFolder fresh{FakeJob{.layout = GetParam()}};
        Child first([&] {
            arm_fault(std::string(where) + "=stop");
            CommittedOutput run(fresh.options());
            run.abandon_if_empty();
        });
        ASSERT_TRUE(first.wait_for_end_or_stop().stopped);
        CommittedOutputOptions options = fresh.options();
        options.alive_within = std::chrono::seconds(0);
        run_to_the_end(fresh, options);

        first.send(SIGCONT);
        EXPECT_EQ(first.wait().exit_code, 0);

        EXPECT_TRUE(CommittedOutput(options).complete()) << where;
        EXPECT_EQ(fresh.published(), fresh.job().files());
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, CommittedOutputAttempts, testing::Values(OutputLayout::file, OutputLayout::folder),
                         layout_name);

}  // namespace
}  // namespace sluice::test

// Outputs of inputs that are still being indexed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commit/attempt_history.hpp"
#include "core/commit/committed_output.hpp"
#include "core/commit/file.hpp"
#include "tests/core/commit/committed_output_run.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

using testing::IsEmpty;

class UncountedOutput : public CommittedOutputRun {
protected:
    [[nodiscard]] CommittedOutputOptions uncounted() { return uncounted(run_); }

    /// An estimate of items, and the right number once is_known_ is set or somebody waits.
    [[nodiscard]] CommittedOutputOptions uncounted(const RunFolder& folder) {
        CommittedOutputOptions options = folder.options();
        options.items += 7;
        options.count = [this, items = folder.job().items](UntilCounted until) {
            waits_ += until == UntilCounted::wait ? 1 : 0;
            return is_known_ || until == UntilCounted::wait ? std::optional(CountedItems{.items = items})
                                                            : std::nullopt;
        };
        return options;
    }

    [[nodiscard]] std::uint64_t chunks() const { return run_.job().grid().chunks(); }

    bool is_known_ = false;
    int waits_ = 0;
};

TEST_P(UncountedOutput, IsThatOfACountedOneWheneverItIsCounted) {
    for (std::uint64_t known_at = 0; known_at <= chunks(); ++known_at) {
        const RunFolder folder{FakeJob{.layout = GetParam()}};
        is_known_ = false;
        CommittedOutput run(uncounted(folder));
        append_until(run, folder.job(), known_at);
        EXPECT_FALSE(run.is_counted());
        EXPECT_EQ(run.next_chunk(), known_at);
        EXPECT_EQ(run.chunks_committed(), 0U);
        EXPECT_FALSE(std::filesystem::exists(folder.paths().identity()));

        is_known_ = true;
        append_until(run, folder.job(), chunks());
        run.publish();

        EXPECT_EQ(folder.published(), folder.job().files()) << known_at;
        EXPECT_EQ(run.identity().items, folder.job().items);
        EXPECT_EQ(waits_, 0);
    }
}

TEST_P(UncountedOutput, IsCommittedAndResumedLikeAnyOther) {
    Child child([&] {
        CommittedOutput run(uncounted());
        append_until(run, run_.job(), 3);
        run.commit();
        is_known_ = true;
        append_until(run, run_.job(), 6);
        run.commit();
        ::raise(SIGKILL);
    });
    ASSERT_EQ(child.wait().signal, SIGKILL);

    CommittedOutput run(uncounted());

    EXPECT_EQ(waits_, 1) << "what has been begun is resumed once all items are known";
    EXPECT_TRUE(run.is_counted());
    EXPECT_EQ(run.first_chunk(), 6U);
    append_until(run, run_.job(), chunks());
    run.publish();
    EXPECT_EQ(run_.published(), run_.job().files());
}

/// As a thread may that ends the run while the writer learns the number of items.
TEST_P(UncountedOutput, BeginsNoMoreOnceItIsAbandoned) {
    CommittedOutputOptions options = uncounted();
    CommittedOutput* output = nullptr;
    options.count = [&, count = options.count](UntilCounted until) {
        std::optional<CountedItems> counted = count(until);
        if (counted) {
            output->abandon_if_empty();
        }
        return counted;
    };
    CommittedOutput run(options);
    output = &run;
    append_until(run, run_.job(), 2);
    is_known_ = true;

    append_until(run, run_.job(), 3);
    run.commit();

    EXPECT_FALSE(run.is_counted());
    EXPECT_EQ(run.chunks_committed(), 0U);
    EXPECT_FALSE(std::filesystem::exists(run_.paths().run_folder()));
}

TEST_P(UncountedOutput, BeginsAnewAfterADeathBeforeItWasCounted) {
    for (const char* const where : {"attempt.made", "counted", "adopt.listed", "jrn.synced"}) {
        for (const bool next_is_counted : {false, true}) {
            const RunFolder folder{FakeJob{.layout = GetParam()}};
            Child child([&] {
                arm_fault(std::string(where) + "=kill");
                CommittedOutput run(uncounted(folder));
                append_until(run, folder.job(), 4);
                is_known_ = true;
                append_until(run, folder.job(), chunks());
                run.publish();
            });
            ASSERT_EQ(child.wait().signal, SIGKILL) << where;
            is_known_ = true;

            run_to_the_end(folder, next_is_counted ? folder.options() : uncounted(folder));

            EXPECT_EQ(folder.published(), folder.job().files()) << where << next_is_counted;
        }
    }
}

TEST_P(UncountedOutput, WaitsForTheCountWhereItHoldsTooMuch) {
    CommittedOutputOptions options = uncounted();
    options.most_held = run_.job().results(0).size() + run_.job().results(1).size();
    CommittedOutput run(options);
    append_until(run, run_.job(), 2);
    EXPECT_EQ(waits_, 0);

    append_until(run, run_.job(), 3);

    EXPECT_EQ(waits_, 1);
    EXPECT_TRUE(run.is_counted());
}

TEST_P(UncountedOutput, HoldsOnWhereTheCountNeverComes) {
    CommittedOutputOptions options = uncounted();
    options.most_held = 0;
    options.count = [](UntilCounted) { return std::nullopt; };
    {
        CommittedOutput run(options);
        append_until(run, run_.job(), 5);
        run.commit();
        EXPECT_EQ(run.chunks_committed(), 0U);
        EXPECT_FALSE(run.time_to_commit());
        run.abandon_if_empty();
    }

    EXPECT_FALSE(std::filesystem::exists(run_.paths().run_folder())) << "nothing was committed";
}

TEST_P(UncountedOutput, TellsWhatTheIndexFailedWith) {
    CommittedOutputOptions options = uncounted();
    options.most_held = 0;
    options.count = [](UntilCounted until) -> std::optional<CountedItems> {
        if (until == UntilCounted::wait) {
            throw Error(ExitCode::bad_data, {.id = "E-INP-033"});
        }
        return std::nullopt;
    };
    CommittedOutput run(options);

    EXPECT_EQ(code_of([&] { append_until(run, run_.job(), 1); }), "65 E-INP-033");
    EXPECT_THAT(run_.published(), IsEmpty());
}

TEST_P(UncountedOutput, IsCountedFirstWhereAnotherHasFinished) {
    run_to_the_end(run_, run_.options());

    const CommittedOutput run(uncounted());

    EXPECT_EQ(waits_, 1);
    EXPECT_TRUE(run.complete());
}

// A process that has no business here must not leave its identity either, with which this run would be compared.
TEST_P(UncountedOutput, KeepsOthersOutWhileItRuns) {
    CommittedOutput run(uncounted());
    CommittedOutputOptions other = run_.options();
    other.settings = {{"app", "other"}};

    EXPECT_EQ(code_of([&] { const CommittedOutput second(other); }), "79 E-OUT-079");
    EXPECT_EQ(code_of([&] { const CommittedOutput third(uncounted()); }), "79 E-OUT-079");

    is_known_ = true;
    append_until(run, run_.job(), chunks());
    run.publish();
    EXPECT_EQ(run_.published(), run_.job().files());
}

TEST_P(UncountedOutput, IsSupersededByAnAttemptThatThoughtItDead) {
    CommittedOutput zombie(uncounted());
    append_until(zombie, run_.job(), 2);
    CommittedOutputOptions options = run_.options();
    options.alive_within = std::chrono::seconds(0);
    options.chunk_items += 2;
    CommittedOutput second(options);
    is_known_ = true;

    EXPECT_EQ(code_of([&] { append_until(zombie, run_.job(), 4); }), "83 E-OUT-083");
    EXPECT_EQ(read_run_identity(run_.paths())->chunk_items, options.chunk_items);
}

TEST_P(UncountedOutput, BeganWhenItBeganAndSuspectsNoChunkBeforeItWasCounted) {
    CommittedOutput run(uncounted());
    const auto begun = read_attempt(run_.paths(), 1).begin;
    note_lost_rank(run_.paths().attempt(1), 1, "rank 1 died", std::vector<std::uint64_t>{5});
    EXPECT_THAT(read_attempt(run_.paths(), 1).in_flight, IsEmpty());

    is_known_ = true;
    append_until(run, run_.job(), 1);

    EXPECT_EQ(read_attempt(run_.paths(), 1).begin, begun);
    EXPECT_THAT(read_attempt(run_.paths(), 1).in_flight, testing::ElementsAre(5));
}

TEST_P(UncountedOutput, IsNotTakenOverByAnotherJob) {
    {
        CommittedOutput run(uncounted());
        is_known_ = true;
        append_until(run, run_.job(), 6);
        run.commit();
    }
    std::filesystem::remove(run_.paths().identity());  // as by hand
    CommittedOutputOptions other = run_.options();
    other.settings = {{"app", "other"}};
    other.alive_within = std::chrono::seconds(0);

    EXPECT_EQ(CommittedOutput(other).first_chunk(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Layouts, UncountedOutput, testing::Values(OutputLayout::file, OutputLayout::folder),
                         layout_name);

}  // namespace
}  // namespace sluice::test

#include "core/commit/attempt_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/commit/journal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Attempt death(std::vector<std::uint64_t> in_flight = {}) {
    return {.died = true, .in_flight = std::move(in_flight)};
}

Attempt alone(std::vector<ItemRange> ranges, bool died_alone) {
    return {.died = true, .tried_alone = std::move(ranges), .died_alone = died_alone};
}

TEST(DeathsWithoutProgress, CountFromTheLastAttemptBack) {
    const Attempt stopped{.died = false};
    const Attempt progress{.committed = 2, .died = true};

    EXPECT_EQ(deaths_without_progress({}), 0U);
    EXPECT_EQ(deaths_without_progress(std::vector{death(), death(), death()}), 3U);
    EXPECT_EQ(deaths_without_progress(std::vector{death(), progress, death()}), 1U);
    EXPECT_EQ(deaths_without_progress(std::vector{death(), stopped, death()}), 2U);
    EXPECT_EQ(deaths_without_progress(std::vector{death(), alone({{0, 4}}, true), death()}), 1U);
}

TEST(SuspectedChunks, AreThoseOfThreeDeaths) {
    const std::vector attempts{death({7, 8}), death({8, 7, 9}), death({7}), death({9})};

    EXPECT_THAT(suspected_chunks(attempts), ElementsAre(7));
}

TEST(IsHopeless, AfterThreeDeathsUnlessSomethingCanBeTriedAlone) {
    const std::vector<std::uint64_t> suspects{7};
    const std::vector deaths{death({7}), death({7}), death({7})};
    const Attempt in_vain = alone({{0, 4}, {4, 4}}, false);

    EXPECT_FALSE(is_hopeless(std::span(deaths).first(2), {}));
    EXPECT_TRUE(is_hopeless(deaths, {}));
    EXPECT_FALSE(is_hopeless(deaths, suspects));
    EXPECT_FALSE(is_hopeless(std::vector{deaths[0], in_vain, in_vain}, suspects));
    EXPECT_TRUE(is_hopeless(std::vector{in_vain, in_vain, in_vain}, suspects));
}

TEST(IsDeadly, OnlyTheLastRangeOfAnAttemptThatDiedOverIt) {
    const std::vector attempts{alone({{0, 4}, {4, 4}}, true), alone({{8, 2}}, false)};

    EXPECT_FALSE(is_deadly({0, 4}, attempts));
    EXPECT_TRUE(is_deadly({4, 4}, attempts));
    EXPECT_FALSE(is_deadly({8, 2}, attempts));
}

class ReadAttempts : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path begin(std::uint32_t attempt) const {
        std::filesystem::create_directories(paths_.attempt(attempt));
        return paths_.attempt(attempt);
    }

    TemporaryFolder folder_;
    RunPaths paths_ = run_paths(folder_.path() / "labels.csv", ".csv");
};

TEST_F(ReadAttempts, TakeAnEndThatTheDiskHadNoRoomForAsNoDeath) {
    std::ofstream(begin(1) / "end").flush();

    const std::vector<Attempt> attempts = read_attempts(paths_, 2);

    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_FALSE(attempts[0].died);
    EXPECT_EQ(attempts[0].code, std::nullopt);
    EXPECT_EQ(attempts[0].end, "could not write why it ended");
}

TEST_F(ReadAttempts, TellsDeathsFromWishes) {
    note_end(begin(1), ExitCode::stopped_early, {.id = "E-RUN-075", .what = "stopped"});
    note_end(begin(2), ExitCode::internal, {.id = "E-RUN-001", .where = "rank 1 on n07", .what = "a defect"});
    note_lost_rank(begin(3), 2, "rank 2 on n07 died: killed", std::vector<std::uint64_t>{5, 6});
    static_cast<void>(begin(4));

    const std::vector<Attempt> attempts = read_attempts(paths_, 5);

    ASSERT_EQ(attempts.size(), 4U);
    EXPECT_FALSE(attempts[0].died);
    EXPECT_EQ(attempts[0].end, "E-RUN-075: stopped");
    EXPECT_TRUE(attempts[1].died);
    EXPECT_EQ(attempts[1].end, "E-RUN-001: rank 1 on n07: a defect");
    EXPECT_TRUE(attempts[2].died);
    EXPECT_EQ(attempts[2].end, "rank 2 on n07 died: killed");
    EXPECT_THAT(attempts[2].in_flight, ElementsAre(5, 6));
    EXPECT_EQ(cause_of_loss(paths_.attempt(3), 2), "rank 2 on n07 died: killed");
    EXPECT_EQ(cause_of_loss(paths_.attempt(3), 0), std::nullopt);
    EXPECT_TRUE(attempts[3].died);
    EXPECT_THAT(attempts[3].end, HasSubstr("killed"));
}

TEST_F(ReadAttempts, CountsTheirOwnChunksOnly) {
    Journal journal(journal_file(begin(1)), 1);
    std::vector<JournalEntry> entries{{.type = EntryType::adopted},
                                      {.type = EntryType::commit, .items = 4},
                                      {.type = EntryType::commit, .items = 4},
                                      {.type = EntryType::commit, .items = 1},
                                      {.type = EntryType::fail}};
    journal.append(entries, Durability::process);

    EXPECT_EQ(read_attempts(paths_, 2).front().committed, 3U);
    EXPECT_EQ(read_attempts(paths_, 2).front().items, 9U);
}

TEST_F(ReadAttempts, KnowsWhatWasTriedAloneLast) {
    LoneRanges passed(begin(1));
    passed.begin({0, 4});
    passed.end({0, 4});
    LoneRanges died(begin(2));
    died.begin({0, 4});
    died.end({0, 4});
    died.begin({4, 4});
    LoneRanges stopped(begin(3));
    stopped.begin({4, 2});
    note_end(paths_.attempt(3), ExitCode::stopped_early, {});

    const std::vector<Attempt> attempts = read_attempts(paths_, 4);

    EXPECT_FALSE(attempts[0].died_alone);
    EXPECT_TRUE(attempts[1].died_alone);
    EXPECT_THAT(attempts[1].tried_alone, ElementsAre(ItemRange{0, 4}, ItemRange{4, 4}));
    EXPECT_FALSE(attempts[2].died_alone);
}

TEST_F(ReadAttempts, ForgetsThoseBeforeAFreshStart) {
    static_cast<void>(begin(1));
    note_fresh_start(begin(2));
    static_cast<void>(begin(3));

    const std::vector<Attempt> attempts = read_attempts(paths_, 4);

    ASSERT_EQ(attempts.size(), 2U);
    EXPECT_EQ(attempts[0].number, 2U);
}

TEST_F(ReadAttempts, BelievesACrashedRankMoreThanThoseWhoSawIt) {
    std::ofstream(crash_file(begin(1), 3)) << "cause rank 3 on n07: died: SIGSEGV\nchunk 5\n";
    note_lost_rank(paths_.attempt(1), 3, "rank 3 on n07 died: killed or out of memory",
                   std::vector<std::uint64_t>{5, 6});

    const Attempt attempt = read_attempts(paths_, 2).front();

    EXPECT_EQ(attempt.end, "rank 3 on n07: died: SIGSEGV");
    EXPECT_THAT(attempt.in_flight, ElementsAre(5, 6));
}

TEST_F(ReadAttempts, TakesNothingFromLinesThatAreNoNotes) {
    std::ofstream(begin(1) / "lost.0") << "chunk\nchunk x\nchunk -1\nchunk 99999999999999999999\nnoise\nchunk 7";
    std::ofstream(paths_.attempt(1) / "alone") << "begin\nbegin 1\nend 1 1\nbegin 3 1";
    std::ofstream(paths_.attempt(1) / "end") << "code many\n";

    const Attempt attempt = read_attempts(paths_, 2).front();

    EXPECT_TRUE(attempt.in_flight.empty());  // the last line was cut
    EXPECT_TRUE(attempt.tried_alone.empty());
    EXPECT_FALSE(attempt.died_alone);
    EXPECT_TRUE(attempt.died);

    for (const char* const line : {"begin\n", "begin 1\n", "begin 1 4294967296\n"}) {
        std::ofstream(paths_.attempt(1) / "alone") << "begin 0 4\nend 0 4\n" << line;
        EXPECT_FALSE(read_attempts(paths_, 2).front().died_alone) << line;
        EXPECT_THAT(read_attempts(paths_, 2).front().tried_alone, ElementsAre(ItemRange{0, 4})) << line;
    }
}

}  // namespace
}  // namespace sluice

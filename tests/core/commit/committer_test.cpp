#include "core/commit/committer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class CommitterTest : public testing::Test {
protected:
    CommitterTest() {
        std::filesystem::create_directories(folder_.paths().run_folder());
        attempt_.emplace(AttemptFolder::acquire(folder_.paths(), this_process("", 0), seconds(0)));
        journal_.emplace(journal_file(attempt_->folder()), attempt_->number());
        committer_.emplace(*attempt_, *journal_, plan_, FakeJob::header, Adopted{},
                           CommitPolicy{.interval = seconds(2), .bytes = 1'000'000, .now = [this] { return now_; }});
        disarm_faults();
    }
    ~CommitterTest() override { disarm_faults(); }

    void append() {
        const std::uint64_t id = committer_->next_chunk();
        const std::string text = job().chunk(id);
        committer_->append({.chunk = id, .items = job().grid().at(id).count, .nonfinite = 1, .bytes = bytes_of(text)});
    }
    [[nodiscard]] const FakeJob& job() const { return folder_.job(); }
    [[nodiscard]] std::vector<JournalEntry> entries() const {
        return read_journal(journal_file(attempt_->folder()), attempt_->number()).entries;
    }
    [[nodiscard]] std::string part(std::uint32_t number) const {
        return contents(part_file(attempt_->folder(), number));
    }

    RunFolder folder_;
    PartPlan plan_{folder_.job().grid(), folder_.job().chunks_per_part};
    Instant now_{};
    std::optional<AttemptFolder> attempt_;
    std::optional<Journal> journal_;
    std::optional<Committer> committer_;
};

TEST_F(CommitterTest, SaysWhenTheOldestHasWaitedLongEnoughAndCommitsTheGroup) {
    EXPECT_EQ(committer_->time_to_commit(), std::nullopt);
    append();
    now_ += seconds(1);
    append();
    EXPECT_EQ(committer_->chunks_committed(), 0U);
    EXPECT_TRUE(entries().empty());
    EXPECT_EQ(committer_->time_to_commit(), seconds(1));

    now_ += seconds(1);
    EXPECT_EQ(committer_->time_to_commit(), seconds(0));
    committer_->commit();

    EXPECT_EQ(committer_->chunks_committed(), 2U);
    EXPECT_EQ(entries().size(), 2U);
    EXPECT_EQ(times_met("fdatasync"), 2U) << "once the data, once the journal";
    EXPECT_EQ(committer_->time_to_commit(), std::nullopt);
}

TEST_F(CommitterTest, CommitsAtOnceWhenEnoughBytesWait) {
    committer_.emplace(*attempt_, *journal_, plan_, FakeJob::header, Adopted{},
                       CommitPolicy{.interval = seconds(1000),
                                    .bytes = job().chunk(0).size() + job().chunk(1).size(),
                                    .now = [this] { return now_; }});
    append();
    EXPECT_EQ(committer_->chunks_committed(), 0U);
    append();
    EXPECT_EQ(committer_->chunks_committed(), 2U);
    append();
    EXPECT_EQ(committer_->chunks_committed(), 2U) << "what was committed waits no more";
}

TEST_F(CommitterTest, CommitsWhatWaitsWhenItIsAskedTo) {
    append();
    committer_->commit();
    EXPECT_EQ(committer_->chunks_committed(), 1U);

    committer_->commit();

    EXPECT_EQ(times_met("fdatasync"), 2U) << "nothing waits: nothing to do";
}

TEST_F(CommitterTest, WritesTheDataBeforeItSyncsAndSyncsBeforeItRecords) {
    append();
    EXPECT_EQ(part(0), FakeJob::header(100) + job().chunk(0)) << "written at once";

    arm_fault("fdatasync::1=errno:EIO");
    EXPECT_EQ(code_of([&] { committer_->commit(); }), "74 E-IO-003");

    EXPECT_TRUE(entries().empty()) << "data that may be lost is not recorded";
}

TEST_F(CommitterTest, RecordsWhereEachChunkLies) {
    append();
    append();
    committer_->commit();

    const std::string first = job().chunk(0);
    const std::string second = job().chunk(1);
    const std::vector<JournalEntry> expected{{.type = EntryType::commit,
                                              .attempt = 1,
                                              .sequence = 0,
                                              .chunk = 0,
                                              .items = 9,
                                              .offset = FakeJob::header(100).size(),
                                              .length = first.size(),
                                              .checksum = checksum_of(bytes_of(first)),
                                              .nonfinite = 1},
                                             {.type = EntryType::commit,
                                              .attempt = 1,
                                              .sequence = 1,
                                              .chunk = 1,
                                              .items = 9,
                                              .offset = FakeJob::header(100).size() + first.size(),
                                              .length = second.size(),
                                              .checksum = checksum_of(bytes_of(second)),
                                              .nonfinite = 1}};
    EXPECT_EQ(entries(), expected);
}

TEST_F(CommitterTest, SealsAPartWithItsLastChunk) {
    for (int i = 0; i < 4; ++i) {
        append();
    }

    ASSERT_EQ(entries().size(), 5U);
    const JournalEntry seal = entries().back();
    EXPECT_EQ(seal.type, EntryType::seal);
    EXPECT_EQ(seal.chunk, 0U);
    EXPECT_EQ(seal.items, 36U);
    EXPECT_EQ(seal.nonfinite, 4U);
    EXPECT_EQ(seal.length, part(0).size());
    EXPECT_EQ(seal.checksum, checksum_of(bytes_of(part(0))));
    EXPECT_EQ(committer_->chunks_committed(), 4U);
    EXPECT_FALSE(std::filesystem::exists(part_file(attempt_->folder(), 1)));
}

TEST_F(CommitterTest, GivesAllPartsAtTheEnd) {
    while (committer_->next_chunk() < job().grid().chunks()) {
        append();
    }

    const std::vector<SealedPart> parts = committer_->finish();

    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[0].items + parts[1].items + parts[2].items, 100U);
    EXPECT_EQ(part(0) + part(1) + part(2), job().files().front());
}

TEST_F(CommitterTest, RefusesAChunkOutOfOrder) {
    const std::string text = job().chunk(1);
    EXPECT_THROW(committer_->append({.chunk = 1, .items = 9, .bytes = bytes_of(text)}), ContractViolation);
    EXPECT_THROW(committer_->append({.chunk = 0, .items = 8, .bytes = bytes_of(text)}), ContractViolation);
    EXPECT_THROW(static_cast<void>(committer_->finish()), ContractViolation);
}

TEST_F(CommitterTest, SaysHowMuchIsCommittedWhenTheDiskIsFull) {
    append();
    committer_->commit();
    arm_fault("write=errno:ENOSPC");

    const Error error = error_of([&] { append(); });

    EXPECT_EQ(error.code(), ExitCode::io_error);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("E-IO-002"), HasSubstr("part-00000.bin"),
                                    HasSubstr("No space left on device; 1 of 12 chunks are committed"),
                                    HasSubstr("hint: free space")));
}

TEST_F(CommitterTest, NeverSyncsAgainAfterAFailure) {
    append();
    arm_fault("fdatasync=errno:EIO");
    EXPECT_EQ(code_of([&] { committer_->commit(); }), "74 E-IO-003");
    disarm_faults();

    EXPECT_THROW(committer_->commit(), ContractViolation);
    EXPECT_THROW(append(), ContractViolation);
    EXPECT_EQ(times_met("fdatasync"), 0U);
    EXPECT_TRUE(entries().empty());
}

TEST_F(CommitterTest, StopsWhenANewerAttemptHasBegun) {
    append();
    static_cast<void>(AttemptFolder::acquire(folder_.paths(), this_process("", 0), seconds(0)));

    EXPECT_EQ(code_of([&] { committer_->commit(); }), "83 E-OUT-083");
    EXPECT_TRUE(entries().empty());
}

TEST_F(CommitterTest, SaysThatItsFolderIsGone) {
    for (int i = 0; i < 4; ++i) {
        append();
    }
    std::filesystem::remove_all(attempt_->folder());

    EXPECT_EQ(code_of([&] { append(); }), "74 E-OUT-119") << "a new part cannot be created, and that is why";
}

TEST_F(CommitterTest, SendsLongResultsOnTheirWayBeforeItCommits) {
    const std::string text(5 << 20, 'x');
    committer_.emplace(*attempt_, *journal_, plan_, FakeJob::header, Adopted{}, CommitPolicy{});
    committer_->append({.chunk = 0, .items = 9, .bytes = bytes_of(text)});
    EXPECT_EQ(times_met("writeback"), 0U);
    committer_->append({.chunk = 1, .items = 9, .bytes = bytes_of(text)});

    EXPECT_EQ(times_met("writeback"), 1U);
    EXPECT_EQ(committer_->chunks_committed(), 0U);
}

TEST_F(CommitterTest, LeavesSyncingToTheKernelWhenOnlyTheProcessMayDie) {
    committer_.emplace(*attempt_, *journal_, plan_, FakeJob::header, Adopted{},
                       CommitPolicy{.interval = seconds(0), .durability = Durability::process});
    journal_.emplace(attempt_->folder() / "other.jrn", attempt_->number());
    append();
    append();

    EXPECT_EQ(committer_->chunks_committed(), 2U);
    EXPECT_EQ(times_met("fdatasync"), 0U);
    append();
    append();
    EXPECT_EQ(times_met("fdatasync"), 1U) << "a sealed part is synced in any case";
}

}  // namespace
}  // namespace sluice::test

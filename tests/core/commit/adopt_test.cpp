#include "core/commit/adopt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commit/committer.hpp"
#include "core/commit/json_text.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/fault_injection.hpp"

namespace sluice::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An attempt with what it needs.
struct Attempt {
    explicit Attempt(const RunFolder& run)
        : folder(run),
          attempt(AttemptFolder::acquire(run.paths(), this_process("", 0), seconds(0))),
          journal(journal_file(attempt.folder()), attempt.number()) {}

    Adopted take_over(ResumeVerify verify = ResumeVerify::open) {
        return adopt(attempt, journal, plan, header, verify);
    }

    /// Adopts, and appends chunks up to `end`, all committed.
    void run_until(std::uint64_t end, std::uint64_t variant = 0) {
        Committer committer(attempt, journal, plan, header, take_over(), {.durability = Durability::process});
        for (std::uint64_t id = committer.next_chunk(); id < end; ++id) {
            const std::string text = folder.job().chunk(id, variant);
            committer.append({.chunk = id, .items = plan.grid().at(id).count, .bytes = bytes_of(text)});
        }
        committer.commit();
    }
    [[nodiscard]] std::filesystem::path part(std::uint32_t number) const { return part_file(attempt.folder(), number); }

    const RunFolder& folder;
    PartPlan plan{folder.job().grid(), folder.job().chunks_per_part};
    FileHeader header = FakeJob::header;
    AttemptFolder attempt;
    Journal journal;
};

class AdoptTest : public testing::Test {
protected:
    AdoptTest() { std::filesystem::create_directories(run_.paths().run_folder()); }

    /// Bytes of the first part, up to and without chunk `end`.
    [[nodiscard]] std::string part_until(std::uint64_t end, std::uint64_t first = 0) const {
        std::string text = first == 0 ? FakeJob::header(run_.job().items) : std::string();
        for (std::uint64_t id = first; id < end; ++id) {
            text += run_.job().chunk(id);
        }
        return text;
    }

    RunFolder run_;
};

void flip_byte(const std::filesystem::path& path, std::size_t at) {
    std::string text = contents(path);
    text.at(at) = static_cast<char>(~text.at(at));
    write_file(path, text);
}

TEST_F(AdoptTest, BeginsWithNothing) {
    Attempt first(run_);

    const Adopted adopted = first.take_over();

    EXPECT_EQ(adopted.chunks, 0U);
    EXPECT_THAT(adopted.sealed, IsEmpty());
    EXPECT_FALSE(adopted.open);
    EXPECT_THAT(adopted.dropped, IsEmpty());
    EXPECT_THAT(adopted.damaged_parts, IsEmpty());
}

TEST_F(AdoptTest, TakesSealedPartsAsLinksAndCopiesTheOpenOne) {
    Attempt first(run_);
    first.run_until(6);  // a part of four chunks, and two more

    Attempt second(run_);
    const Adopted adopted = second.take_over();

    EXPECT_EQ(adopted.chunks, 6U);
    ASSERT_EQ(adopted.sealed.size(), 1U);
    EXPECT_EQ(adopted.sealed[0].items, 36U);
    EXPECT_TRUE(std::filesystem::equivalent(second.part(0), first.part(0)));
    EXPECT_FALSE(std::filesystem::equivalent(second.part(1), first.part(1)));
    EXPECT_EQ(contents(second.part(1)), part_until(6, 4));
    EXPECT_THAT(adopted.dropped, IsEmpty());
}

TEST_F(AdoptTest, WritesWhatItAcceptsBeforeItUsesIt) {
    Attempt first(run_);
    first.run_until(6);
    Attempt second(run_);
    second.run_until(6);

    const auto json = open_sealed_text(contents(second.attempt.folder() / "adopt.json"));

    ASSERT_TRUE(json);
    EXPECT_EQ(json->at("accepted").dump(), R"([{"attempt":1,"journal":"w0.jrn","bytes":448}])");  // 6 commits, a seal
}

TEST_F(AdoptTest, NeedsTheOlderAttemptsNoMore) {
    Attempt first(run_);
    first.run_until(6);
    Attempt second(run_);
    second.run_until(7);
    std::filesystem::remove_all(first.attempt.folder());

    Attempt third(run_);
    const Adopted adopted = third.take_over();

    EXPECT_EQ(adopted.chunks, 7U);
    EXPECT_EQ(contents(third.part(0)), part_until(4));
    EXPECT_EQ(contents(third.part(1)), part_until(7, 4));
}

TEST_F(AdoptTest, GoesOnWhereAnEarlierAttemptHasMoreThanTheNewest) {
    Attempt first(run_);
    first.run_until(2);
    Attempt second(run_);
    second.run_until(2);  // and was killed
    const std::string text = run_.job().chunk(2);
    std::vector<JournalEntry> more{{.type = EntryType::commit,
                                    .chunk = 2,
                                    .items = 9,
                                    .offset = part_until(2).size(),
                                    .length = text.size(),
                                    .checksum = checksum_of(bytes_of(text))}};
    write_file(first.part(0), part_until(3));
    first.journal.append(more, Durability::process);  // the first one was only slow

    Attempt third(run_);

    EXPECT_EQ(third.take_over().chunks, 3U);
    EXPECT_EQ(contents(third.part(0)), part_until(3));
}

TEST_F(AdoptTest, CutsTheOpenPartAtTheFirstDamagedChunk) {
    Attempt first(run_);
    first.run_until(3);
    flip_byte(first.part(0), part_until(1).size() + 5);

    Attempt second(run_);
    const Adopted adopted = second.take_over();

    EXPECT_EQ(adopted.chunks, 1U);
    EXPECT_EQ(contents(second.part(0)), part_until(1));
    EXPECT_THAT(adopted.dropped, ElementsAre("chunk 1 of attempt 1 is damaged and will be recomputed"));
}

TEST_F(AdoptTest, TakesAChunkFromWhoeverHasItUndamaged) {
    Attempt first(run_);
    first.run_until(3);
    Attempt second(run_);
    second.run_until(3);
    flip_byte(second.part(0), part_until(1).size() + 5);

    Attempt third(run_);
    const Adopted adopted = third.take_over();

    EXPECT_EQ(adopted.chunks, 3U);
    EXPECT_EQ(contents(third.part(0)), part_until(3));
    EXPECT_THAT(adopted.dropped, ElementsAre("chunk 1 of attempt 2 is damaged and will be recomputed"));
}

TEST_F(AdoptTest, FindsASealedPartThatWasCutWhateverItVerifies) {
    Attempt first(run_);
    first.run_until(6);
    std::filesystem::resize_file(first.part(0), part_until(4).size() - 1);

    Attempt second(run_);
    const Adopted adopted = second.take_over();

    EXPECT_EQ(adopted.chunks, 3U) << "its whole chunks are kept";
    EXPECT_EQ(contents(second.part(0)), part_until(3));
    EXPECT_THAT(adopted.damaged_parts, ElementsAre("part 0 of attempt 1 is damaged and will be recomputed"));
    EXPECT_THAT(adopted.dropped, ElementsAre("chunk 3 of attempt 1 is damaged and will be recomputed"));
}

TEST_F(AdoptTest, BlamesNobodyForDataThatIsGone) {
    Attempt first(run_);
    first.run_until(6);  // a sealed part, and two chunks of the next one
    std::filesystem::remove(first.part(0));
    std::filesystem::remove(first.part(1));

    Attempt second(run_);
    const Adopted adopted = second.take_over();

    EXPECT_EQ(adopted.chunks, 0U);
    EXPECT_THAT(adopted.damaged_parts, IsEmpty());
    EXPECT_THAT(adopted.dropped, ElementsAre("part 0 of attempt 1 is missing and will be recomputed"));
}

TEST_F(AdoptTest, ReadsSealedPartsWhenItIsToldTo) {
    Attempt first(run_);
    first.run_until(6);
    flip_byte(first.part(0), part_until(2).size() + 1);

    Attempt second(run_);
    EXPECT_EQ(second.take_over(ResumeVerify::open).chunks, 6U);
    Attempt third(run_);
    const Adopted adopted = third.take_over(ResumeVerify::all);

    EXPECT_EQ(adopted.chunks, 2U);
    EXPECT_EQ(contents(third.part(0)), part_until(2));
}

/// Adopts while the `nth` block that is read cannot be.
Adopted take_over_with_a_bad_block(Attempt& attempt, int nth, ResumeVerify verify) {
    arm_fault(fmt::format("read::{}=errno:EIO", nth));
    Adopted adopted = attempt.take_over(verify);
    disarm_faults();
    return adopted;
}

// A bad block ends no attempt: what was before it is kept.
TEST_F(AdoptTest, ComputesAgainFromABlockThatCannotBeRead) {
    Attempt first(run_);
    first.run_until(3);

    Attempt second(run_);
    const Adopted adopted =
        take_over_with_a_bad_block(second, 4, ResumeVerify::open);  // journal, owner, chunk 0, chunk 1

    EXPECT_EQ(adopted.chunks, 1U);
    EXPECT_EQ(contents(second.part(0)), part_until(1));
    EXPECT_THAT(adopted.dropped, ElementsAre("chunk 1 of attempt 1 is damaged and will be recomputed"));
}

TEST_F(AdoptTest, GoesOnFromAJournalThatCannotBeRead) {
    Attempt first(run_);
    first.run_until(3);

    Attempt second(run_);
    const Adopted adopted = take_over_with_a_bad_block(second, 1, ResumeVerify::open);

    EXPECT_EQ(adopted.chunks, 0U);
    EXPECT_THAT(adopted.dropped,
                ElementsAre("dropped 192 bytes of the journal of attempt 1 after its 0 valid entries"));
}

TEST_F(AdoptTest, ComputesASealedPartAgainThatCannotBeRead) {
    Attempt first(run_);
    first.run_until(4);

    Attempt second(run_);
    const Adopted adopted = take_over_with_a_bad_block(second, 3, ResumeVerify::all);

    EXPECT_EQ(adopted.chunks, 4U) << "chunk by chunk it can be read";
    EXPECT_THAT(adopted.damaged_parts, ElementsAre("part 0 of attempt 1 is damaged and will be recomputed"));
}

TEST_F(AdoptTest, ComputesAPartAgainThatCannotBeCopied) {
    Attempt first(run_);
    first.run_until(4);

    Attempt second(run_);
    arm_fault("link::*=errno:EPERM,copy=errno:EIO,copy.read=errno:EIO");
    const Adopted adopted = second.take_over();
    disarm_faults();

    EXPECT_EQ(adopted.chunks, 4U) << "chunk by chunk it can be read";
    EXPECT_THAT(adopted.damaged_parts, ElementsAre("part 0 of attempt 1 cannot be read and will be recomputed"));
}

TEST_F(AdoptTest, TellsOfAJournalThatEndsInTheMiddle) {
    Attempt first(run_);
    first.run_until(3);
    std::filesystem::resize_file(journal_file(first.attempt.folder()), 100);

    Attempt second(run_);
    const Adopted adopted = second.take_over();

    EXPECT_EQ(adopted.chunks, 1U);
    EXPECT_THAT(adopted.dropped, ElementsAre("dropped 36 bytes of the journal of attempt 1 after its 1 valid entries"));
}

TEST_F(AdoptTest, PassesOverRecordsThatDoNotFitTheJob) {
    Attempt first(run_);
    std::vector<JournalEntry> entries{{.type = EntryType::commit, .chunk = 0, .items = 8},
                                      {.type = EntryType::commit, .chunk = 99, .items = 9},
                                      {.type = EntryType::seal, .chunk = 1, .part = 0, .items = 36},
                                      {.type = EntryType::seal, .chunk = 0, .part = 77, .items = 36},
                                      {.type = static_cast<EntryType>(3), .chunk = 0, .items = 9}};
    first.journal.append(entries, Durability::process);

    Attempt second(run_);

    EXPECT_EQ(second.take_over().chunks, 0U);
}

TEST_F(AdoptTest, MixesAttemptsByChunkAndNeverInside) {
    Attempt first(run_);
    first.run_until(2, 1);
    Attempt second(run_);
    second.run_until(3, 2);

    EXPECT_EQ(contents(second.part(0)),
              FakeJob::header(100) + run_.job().chunk(0, 1) + run_.job().chunk(1, 1) + run_.job().chunk(2, 2));
}

}  // namespace
}  // namespace sluice::test

#include "core/commit/journal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/commit/attempt_journal.hpp"
#include "core/system/descriptor.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

constexpr std::uint32_t attempt = 7;
constexpr std::size_t journal_entrys = 256;

class JournalTest : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "w0.jrn"; }

    /// A journal of `count` random entries, as its bytes and as what stands in it.
    std::vector<JournalEntry> write(std::size_t count) {
        std::mt19937_64 random(seed_);
        std::vector<JournalEntry> entries;
        for (std::size_t i = 0; i < count; ++i) {
            entries.push_back({.chunk = i, .offset = random(), .length = random(), .checksum = random()});
        }
        Journal journal(file(), attempt);
        for (std::size_t at = 0; at < count;) {
            const std::size_t group = std::min<std::size_t>(1 + random() % 50, count - at);
            journal.append(std::span(entries).subspan(at, group), Durability::process);
            at += group;
        }
        return entries;
    }

private:
    TemporaryFolder folder_;
    std::uint64_t seed_ = fresh_seed();
};

TEST_F(JournalTest, ReadsBackAsItWasWritten) {
    const std::vector<JournalEntry> entries = write(journal_entrys);

    const JournalPrefix prefix = read_journal(file(), attempt);

    EXPECT_EQ(prefix.entries, entries);
    EXPECT_EQ(prefix.entries.back().sequence, journal_entrys - 1);
    EXPECT_EQ(prefix.bytes, 64U * journal_entrys);
    EXPECT_EQ(prefix.ignored, 0U);
}

TEST_F(JournalTest, IsReadUpToItsFirstDamageHoweverLongItIs) {
    constexpr std::uint64_t size = std::uint64_t{1} << 42U;  // more than any machine's memory
    const std::vector<JournalEntry> entries = write(journal_entrys);
    std::filesystem::resize_file(file(), size);

    const JournalPrefix prefix = read_journal(file(), attempt);

    EXPECT_EQ(prefix.entries, entries);
    EXPECT_EQ(prefix.ignored, size - 64 * journal_entrys);
}

TEST_F(JournalTest, IsEmptyWhenItIsMissing) {
    EXPECT_TRUE(read_journal(file(), attempt).entries.empty());
}

TEST_F(JournalTest, IsCutAtTheRecordInWhichAnyByteHasChanged) {
    const std::vector<JournalEntry> entries = write(journal_entrys);
    const std::string text = contents(file());
    ASSERT_EQ(text.size(), 64U * journal_entrys);

    const Descriptor disk(::open(file().c_str(), O_WRONLY | O_CLOEXEC));
    std::size_t undetected = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char other = static_cast<char>(~text[at]);
        ASSERT_EQ(::pwrite(disk.number(), &other, 1, static_cast<off_t>(at)), 1);
        const JournalPrefix prefix = read_journal(file(), attempt);
        ASSERT_EQ(::pwrite(disk.number(), &text[at], 1, static_cast<off_t>(at)), 1);
        const bool right = prefix.entries.size() == at / 64 && prefix.bytes == at / 64 * 64 &&
                           prefix.ignored == text.size() - prefix.bytes &&
                           std::equal(prefix.entries.begin(), prefix.entries.end(), entries.begin());
        undetected += right ? 0 : 1;
    }

    EXPECT_EQ(undetected, 0U);
}

TEST_F(JournalTest, KeepsTheWholeRecordsOfEveryLengthThatItIsCutTo) {
    const std::vector<JournalEntry> entries = write(journal_entrys);

    std::size_t wrong = 0;
    for (std::size_t length = 64 * journal_entrys + 1; length-- > 0;) {
        std::filesystem::resize_file(file(), length);
        const JournalPrefix prefix = read_journal(file(), attempt);
        const bool right = prefix.entries.size() == length / 64 && prefix.ignored == length % 64 &&
                           std::equal(prefix.entries.begin(), prefix.entries.end(), entries.begin());
        wrong += right ? 0 : 1;
    }

    EXPECT_EQ(wrong, 0U);
}

TEST_F(JournalTest, EndsWhereAEntryIsMissingOrOfAnotherAttempt) {
    write(10);
    const std::string text = contents(file());
    const auto entries_in = [&](const std::string& other) {
        write_file(file(), other);
        return read_journal(file(), attempt).entries.size();
    };

    EXPECT_EQ(entries_in(text.substr(0, 128) + text.substr(192)), 2U);
    EXPECT_EQ(entries_in(text.substr(0, 128) + text), 2U);
    EXPECT_EQ(read_journal(file(), attempt + 1).entries.size(), 0U);
}

TEST_F(JournalTest, IsNeverWrittenOver) {
    write(1);

    EXPECT_EQ(code_of([&] { const Journal second(file(), attempt); }), "73 E-OUT-021");
}

TEST(AttemptJournal, HasNoEntryOfAnotherPlan) {
    const RunFolder run;
    CommittedOutput output(run.options());
    append_until(output, run.job(), 6);  // a part of four chunks, and two more
    output.commit();
    const ChunkGrid grid = run.job().grid();
    const auto read_by = [&](const PartPlan& plan) {
        return read_attempt_journal(run.paths(), 1, plan, output.owner().run);
    };

    const AttemptJournal own = read_by(PartPlan(grid, 4));
    const AttemptJournal of_other_chunks = read_by(PartPlan(ChunkGrid(grid.items(), grid.chunk_items() - 1), 4));
    const AttemptJournal of_other_parts = read_by(PartPlan(grid, 3));

    EXPECT_EQ(own.chunks.size(), 6U);
    EXPECT_EQ(own.seals.size(), 1U);
    EXPECT_TRUE(of_other_chunks.chunks.empty());
    EXPECT_TRUE(of_other_chunks.seals.empty());
    EXPECT_FALSE(of_other_parts.chunks.contains(3)) << "it would be in part 1";
    EXPECT_TRUE(of_other_parts.seals.empty());
}

}  // namespace
}  // namespace sluice::test

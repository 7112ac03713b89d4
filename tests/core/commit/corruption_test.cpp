#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/commit/attempt_journal.hpp"
#include "core/commit/part_writer.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t part_bytes = std::size_t{64} << 10;
constexpr std::size_t chunks = 61;
constexpr std::size_t shares = 4;  // of the part's bytes: each is a test of its own

/// A sealed part of 64 KiB, of random bytes in chunks of different lengths.
class Corruption : public testing::TestWithParam<std::size_t> {
protected:
    Corruption() {
        std::mt19937_64 random(fresh_seed());
        bytes_.resize(part_bytes);
        std::generate(bytes_.begin(), bytes_.end(), [&] { return static_cast<std::byte>(random()); });
        PartWriter writer(path(), 0, "");
        std::size_t at = 0;
        for (std::size_t id = 0; id < chunks; ++id) {
            const std::size_t length = id + 1 == chunks ? part_bytes - at : 1000 + random() % 90;
            entries_.push_back(writer.append(
                {.chunk = id, .items = 1, .bytes = std::span<const std::byte>(bytes_).subspan(at, length)},
                EntryType::commit));
            at += length;
        }
        seal_ = writer.seal();
        file_ = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    }
    ~Corruption() override { ::close(file_); }

    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "part"; }
    void put(std::size_t at, std::byte byte) const { ASSERT_EQ(::pwrite(file_, &byte, 1, static_cast<off_t>(at)), 1); }
    [[nodiscard]] const JournalEntry& record_with(std::size_t at) const {
        return *std::find_if(entries_.begin(), entries_.end(),
                             [at](const JournalEntry& entry) { return at < entry.offset + entry.length; });
    }

    TemporaryFolder folder_;
    std::vector<std::byte> bytes_;
    std::vector<JournalEntry> entries_;
    SealedPart seal_;
    int file_ = -1;
};

TEST_P(Corruption, OfAnyByteIsFoundInTheChunkAndInThePart) {
    const File part = File::open(path());
    std::vector<std::byte> chunk;
    std::size_t undetected = 0;
    std::size_t flips = 0;
    ASSERT_TRUE(matches_seal(path(), seal_, true));

    for (std::size_t at = GetParam(); at < part_bytes; at += shares) {
        put(at, ~bytes_[at]);
        undetected += read_chunk(part, record_with(at), chunk) ? 1 : 0;
        undetected += checksum_in(part, 0, seal_.bytes) == seal_.checksum ? 1 : 0;
        put(at, bytes_[at]);
        ++flips;
    }

    EXPECT_EQ(undetected, 0U);
    EXPECT_EQ(flips, part_bytes / shares);
    EXPECT_TRUE(matches_seal(path(), seal_, true)) << "the test has put every byte back";
}

INSTANTIATE_TEST_SUITE_P(Shares, Corruption, testing::Range<std::size_t>(0, shares));

class Truncation : public Corruption {};

TEST_P(Truncation, AtAnyLengthIsFoundInTheChunkAndInThePart) {
    const File part = File::open(path());
    std::vector<std::byte> chunk;
    std::size_t undetected = 0;

    for (std::size_t length = part_bytes; length-- > 0;) {
        ASSERT_EQ(::ftruncate(file_, static_cast<off_t>(length)), 0);
        undetected += read_chunk(part, record_with(length), chunk) ? 1 : 0;
        undetected += length % 4096 == 0 && checksum_in(part, 0, seal_.bytes) ? 1 : 0;
        undetected += matches_seal(path(), seal_, false) ? 1 : 0;
    }

    EXPECT_EQ(undetected, 0U);
}

INSTANTIATE_TEST_SUITE_P(Once, Truncation, testing::Values(0));

}  // namespace
}  // namespace sluice::test

#include "core/commit/journal.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

JournalEntry random_record(std::mt19937_64& random) {
    return {.type = static_cast<EntryType>(1 + random() % 5),
            .reserved = static_cast<std::uint16_t>(random()),
            .attempt = static_cast<std::uint32_t>(random()),
            .sequence = static_cast<std::uint32_t>(random()),
            .chunk = random(),
            .part = static_cast<std::uint32_t>(random()),
            .items = static_cast<std::uint32_t>(random()),
            .offset = random(),
            .length = random(),
            .checksum = random(),
            .nonfinite = static_cast<std::uint32_t>(random())};
}

TEST(JournalEntry, ReadsBackAsItWasWritten) {
    std::mt19937_64 random(fresh_seed());
    for (int i = 0; i < 1000; ++i) {
        const JournalEntry entry = random_record(random);
        EXPECT_EQ(decode_journal_entry(encode(entry)), entry);
    }
}

TEST(JournalEntry, HasItsBytesInTheDocumentedOrder) {
    const auto bytes = encode(JournalEntry{.type = EntryType::seal,
                                           .reserved = 0x0201,
                                           .attempt = 0x13121110,
                                           .sequence = 0x23222120,
                                           .chunk = 0x3736353433323130,
                                           .part = 0x43424140,
                                           .items = 0x53525150,
                                           .offset = 0x6766656463626160,
                                           .length = 0x7776757473727170,
                                           .checksum = 0x8786858483828180,
                                           .nonfinite = 0x93929190});

    std::string text;
    for (const std::byte byte : std::span(bytes).first(60)) {
        text += fmt::format("{:02x}", static_cast<unsigned>(byte));
    }
    EXPECT_EQ(text,
              "534c4a31"
              "0200"
              "0102"
              "10111213"
              "20212223"
              "3031323334353637"
              "40414243"
              "50515253"
              "6061626364656667"
              "7071727374757677"
              "8081828384858687"
              "90919293");
}

TEST(JournalEntry, IsNoneWhenAnyBitHasChanged) {
    std::mt19937_64 random(fresh_seed());
    for (int i = 0; i < 100; ++i) {
        auto bytes = encode(random_record(random));
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            const auto mask = static_cast<std::byte>(1U << (bit % 8));
            bytes[bit / 8] ^= mask;
            EXPECT_FALSE(decode_journal_entry(bytes)) << bit;
            bytes[bit / 8] ^= mask;
        }
    }
}

TEST(JournalEntry, IsNoneOfZeros) {
    EXPECT_FALSE(decode_journal_entry(std::vector<std::byte>(JournalEntry::bytes)));
}

}  // namespace
}  // namespace sluice::test

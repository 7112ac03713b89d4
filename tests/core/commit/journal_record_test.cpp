#include "core/commit/journal_record.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

JournalRecord random_record(std::mt19937_64& random) {
    return {.type = static_cast<RecordType>(1 + random() % 5),
            .file = static_cast<std::uint16_t>(random()),
            .epoch = static_cast<std::uint32_t>(random()),
            .sequence = static_cast<std::uint32_t>(random()),
            .chunk = random(),
            .part = static_cast<std::uint32_t>(random()),
            .items = static_cast<std::uint32_t>(random()),
            .offset = random(),
            .length = random(),
            .checksum = random(),
            .nonfinite = static_cast<std::uint32_t>(random())};
}

TEST(JournalRecord, ReadsBackAsItWasWritten) {
    std::mt19937_64 random(fresh_seed());
    for (int i = 0; i < 1000; ++i) {
        const JournalRecord record = random_record(random);
        EXPECT_EQ(decode_journal_record(encode(record)), record);
    }
}

TEST(JournalRecord, HasItsBytesInTheDocumentedOrder) {
    const auto bytes = encode(JournalRecord{.type = RecordType::seal,
                                            .file = 0x0201,
                                            .epoch = 0x13121110,
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

TEST(JournalRecord, IsNoneWhenAnyBitHasChanged) {
    std::mt19937_64 random(fresh_seed());
    for (int i = 0; i < 100; ++i) {
        auto bytes = encode(random_record(random));
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            const auto mask = static_cast<std::byte>(1U << (bit % 8));
            bytes[bit / 8] ^= mask;
            EXPECT_FALSE(decode_journal_record(bytes)) << bit;
            bytes[bit / 8] ^= mask;
        }
    }
}

TEST(JournalRecord, IsNoneOfZeros) {
    EXPECT_FALSE(decode_journal_record(std::vector<std::byte>(JournalRecord::bytes)));
}

}  // namespace
}  // namespace sluice::test

#include "core/files/checksum.hpp"

#include <gtest/gtest.h>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

TEST(Checksum, DoesNotDependOnThePieces) {
    std::mt19937_64 random(fresh_seed());
    std::string text(100'000, '\0');
    std::generate(text.begin(), text.end(), [&] { return static_cast<char>(random()); });

    Checksum checksum;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view piece = std::string_view(text).substr(at, random() % 3000);
        checksum.add(piece);
        at += piece.size();
    }

    EXPECT_EQ(checksum.value(), checksum_of(bytes_of(text)));
    EXPECT_NE(checksum.value(), Checksum().value());
}

TEST(Checksum, IsXxh3) {  // the value of the empty input: xxHash's own test vectors
    EXPECT_EQ(checksum_of({}), 0x2D06800538D394C2U);
    EXPECT_EQ(hexadecimal(0x2D), "000000000000002d");
    EXPECT_EQ(fingerprint_of(""), "99aa06d3014798d86001c324468d497f");
}

std::uint32_t crc_of(std::string_view text) {
    return crc32c(std::as_bytes(std::span(text)));
}

/// Bit by bit, as the polynomial is defined.
std::uint32_t plain_crc(std::span<const std::byte> bytes) {
    std::uint32_t remainder = 0xFFFFFFFF;
    for (const std::byte byte : bytes) {
        for (int bit = 0; bit < 8; ++bit) {
            const std::uint32_t in = (static_cast<std::uint32_t>(byte) >> bit) & 1;
            remainder = (remainder >> 1) ^ (((remainder & 1) ^ in) != 0 ? 0x82F63B78U : 0U);
        }
    }
    return ~remainder;
}

TEST(Crc32c, GivesTheValuesOfItsStandard) {  // RFC 3720, appendix B.4, and the usual check value
    std::vector<std::byte> bytes(32);
    EXPECT_EQ(crc32c(bytes), 0x8A9136AAU);
    std::fill(bytes.begin(), bytes.end(), std::byte{0xFF});
    EXPECT_EQ(crc32c(bytes), 0x62A8AB43U);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(i);
    }
    EXPECT_EQ(crc32c(bytes), 0x46DD794EU);
    EXPECT_EQ(crc_of("123456789"), 0xE3069283U);
    EXPECT_EQ(crc_of(""), 0U);
}

TEST(Crc32c, IsThatOfTheDefinitionForEveryLength) {
    std::vector<std::byte> bytes(67);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(i * 37 + 11);
    }
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
        EXPECT_EQ(crc32c(std::span(bytes).first(length)), plain_crc(std::span(bytes).first(length))) << length;
    }
}

}  // namespace
}  // namespace sluice::test

#include "core/commit/crc32c.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace sluice {
namespace {

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
}  // namespace sluice

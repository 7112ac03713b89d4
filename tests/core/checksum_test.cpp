#include "core/checksum.hpp"

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

}  // namespace
}  // namespace sluice::test

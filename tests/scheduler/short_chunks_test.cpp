#include "scheduler/short_chunks.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ShortChunks, AreCapturedWhenTheirSizeIsMetAgain) {
    ShortChunks chunks;

    EXPECT_EQ(chunks.meet(7), nullptr);
    EXPECT_EQ(chunks.meet(8), nullptr);
    auto* const seven = chunks.meet(7);
    auto* const eight = chunks.meet(8);

    ASSERT_NE(seven, nullptr);
    EXPECT_NE(seven, eight);
    EXPECT_EQ(*seven, nullptr) << "captured by who launches it";
    *seven = std::make_unique<CapturedWork>();
    EXPECT_EQ(chunks.meet(7), seven);
    EXPECT_NE(*seven, nullptr) << "and kept";
}

TEST(ShortChunks, ForgetTheSizeThatWasMetLongestAgo) {
    ShortChunks chunks;
    for (std::size_t items = 1; items <= ShortChunks::most_sizes; ++items) {
        EXPECT_EQ(chunks.meet(items), nullptr);
    }
    *chunks.meet(2) = std::make_unique<CapturedWork>();
    EXPECT_NE(chunks.meet(1), nullptr);

    EXPECT_EQ(chunks.meet(100), nullptr) << "takes the place of 3";

    EXPECT_NE(chunks.meet(1), nullptr);
    EXPECT_NE(*chunks.meet(2), nullptr);
    EXPECT_NE(chunks.meet(100), nullptr);
    EXPECT_EQ(chunks.meet(3), nullptr) << "a stranger again, in the place of 4";
    ASSERT_NE(chunks.meet(3), nullptr);
    EXPECT_EQ(*chunks.meet(3), nullptr);
    EXPECT_EQ(chunks.meet(4), nullptr);
}

}  // namespace
}  // namespace sluice

#include "comm/message_pieces.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t limit = 1000;

TEST(MessagePieces, AreOneAtLeastAndNeverMoreThanNeeded) {
    EXPECT_EQ(piece_count(0, limit), 1U);
    EXPECT_EQ(piece_count(1, limit), 1U);
    EXPECT_EQ(piece_count(limit - 1, limit), 1U);
    EXPECT_EQ(piece_count(limit, limit), 1U);
    EXPECT_EQ(piece_count(limit + 1, limit), 2U);
    EXPECT_EQ(piece_count(std::size_t{1} << 33U, largest_message), 128U);
    EXPECT_EQ(piece_count((std::size_t{1} << 33U) + 1, largest_message), 129U);
}

TEST(MessagePieces, CoverEveryByteOnceWithinTheLimit) {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, limit - 1, limit, limit + 1, 7 * limit, 7 * limit + 3}) {
        const std::vector<char> message(bytes);
        const std::span<const char> whole(message);
        const std::size_t pieces = piece_count(bytes, limit);
        std::size_t next = 0;

        for (std::size_t i = 0; i < pieces; ++i) {
            const std::span<const char> piece = piece_at(whole, limit, i);
            EXPECT_EQ(piece.data(), whole.data() + next);
            EXPECT_EQ(piece.empty(), bytes == 0);
            EXPECT_LE(piece.size(), limit);
            next += piece.size();
        }

        EXPECT_EQ(next, bytes);
        EXPECT_TRUE(piece_at(whole, limit, pieces).empty()) << "past the end";
        EXPECT_TRUE(piece_at(whole, limit, pieces + 5).empty());
    }
}

}  // namespace
}  // namespace sluice

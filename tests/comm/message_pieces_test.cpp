#include "comm/message_pieces.hpp"

#include <gtest/gtest.h>

#include <cstdint>
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
        std::size_t next = 0;
        std::size_t visits = 0;

        for_each_piece(bytes, limit, [&](std::size_t offset, int count) {
            const Piece piece = piece_at(bytes, limit, visits++);
            EXPECT_EQ(offset, next);
            EXPECT_EQ(piece.offset, offset);
            EXPECT_EQ(piece.count, count);
            EXPECT_GT(count, 0);
            EXPECT_LE(static_cast<std::size_t>(count), limit);
            next += static_cast<std::size_t>(count);
        });

        EXPECT_EQ(next, bytes);
        EXPECT_EQ(visits, bytes == 0 ? 0 : piece_count(bytes, limit));
        EXPECT_EQ(piece_at(bytes, limit, visits).count, 0) << "empty past the end";
        EXPECT_EQ(piece_at(bytes, limit, visits + 5).offset, bytes);
    }
}

TEST(MessagePieces, CoverMoreBytesThanAnIntCounts) {
    constexpr std::size_t bytes = (std::size_t{1} << 33U) + 5;
    std::size_t covered = 0;

    for_each_piece(bytes, largest_message, [&](std::size_t, int count) { covered += static_cast<std::size_t>(count); });

    EXPECT_EQ(covered, bytes);
    EXPECT_EQ(piece_at(bytes, largest_message, 128).count, 5);
}

}  // namespace
}  // namespace sluice

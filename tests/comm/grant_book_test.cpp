#include "comm/grant_book.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;

/// As a thread does that runs all the time.
void tick(GrantBook& book, Instant from, Instant to) {
    for (Instant now = from; now <= to; now += 500ms) {
        book.tick(now, 0s);
    }
}

TEST(GrantBook, KnowsWhoHoldsWhatAndWhoReturnedWhat) {
    const Instant begin = Clock::now();
    GrantBook book(3, 2, begin);
    const Chunk first{.id = 0, .first = 0, .count = 4};
    const Chunk second{.id = 1, .first = 4, .count = 4};
    const Chunk third{.id = 2, .first = 8, .count = 3};
    book.granted(first, 1, begin);
    book.granted(second, 0, begin);
    book.granted(third, 1, begin + 1s);

    tick(book, begin, begin + 3s);
    book.returned(first, 1, begin + 3s);

    const auto open = book.open();
    ASSERT_EQ(open.size(), 2U);
    EXPECT_EQ(open[0].chunk, 1U);
    EXPECT_EQ(open[0].rank, 0);
    EXPECT_EQ(open[1].chunk, 2U);
    EXPECT_EQ(open[1].rank, 1);
    EXPECT_EQ(book.held_by(0), std::vector<std::uint64_t>{1});
    EXPECT_EQ(book.held_by(1), std::vector<std::uint64_t>{2});
    EXPECT_EQ(book.ranks()[1].chunks, 1U);
    EXPECT_EQ(book.ranks()[1].items, 4U);
    EXPECT_EQ(book.ranks()[1].last, begin + 3s);
    EXPECT_EQ(book.ranks()[1].messages, 1U);
    EXPECT_EQ(book.ranks()[0].chunks, 0U);
    EXPECT_EQ(book.ranks()[0].last, begin);
    EXPECT_EQ(book.slowest_chunk(), 3s);
}

TEST(GrantBook, MeasuresEachChunkFromItsOwnGrant) {
    const Instant begin = Clock::now();
    GrantBook book(3, 1, begin);
    book.granted({.id = 0, .first = 0, .count = 4}, 0, begin);
    tick(book, begin, begin + 1s);
    book.granted({.id = 1, .first = 4, .count = 4}, 0, begin + 1s);
    tick(book, begin + 1s, begin + 4s);
    book.returned({.id = 0, .first = 0, .count = 4}, 0, begin + 4s);
    EXPECT_EQ(book.slowest_chunk(), 4s);
    tick(book, begin + 4s, begin + 9s);
    book.granted({.id = 2, .first = 8, .count = 4}, 0, begin + 9s);
    book.returned({.id = 1, .first = 4, .count = 4}, 0, begin + 9s);
    EXPECT_EQ(book.slowest_chunk(), 8s);
    tick(book, begin + 9s, begin + 10s);
    book.returned({.id = 2, .first = 8, .count = 4}, 0, begin + 10s);

    EXPECT_EQ(book.slowest_chunk(), 8s) << "the last one was quicker";
    EXPECT_TRUE(book.open().empty());
}

TEST(GrantBook, CountsNoTimeInWhichTheProcessWasSuspended) {
    const Instant begin = Clock::now();
    const Chunk first{.id = 0, .first = 0, .count = 4};
    const Chunk second{.id = 1, .first = 4, .count = 4};
    GrantBook book(2, 1, begin);
    book.granted(first, 0, begin);
    book.granted(second, 0, begin);
    tick(book, begin, begin + 2s);
    const Instant resumed = begin + 2h;

    book.returned(first, 0, resumed);  // before the thread that ticks, of whose pause one second counts
    tick(book, resumed, resumed + 1s);
    book.returned(second, 0, resumed + 1s);

    EXPECT_EQ(book.slowest_chunk(), 4s);
}

TEST(GrantBook, RefusesAChunkThatTheRankDoesNotHold) {
    GrantBook book(2, 2);
    const Chunk chunk{.id = 7, .first = 28, .count = 4};
    book.granted(chunk, 1);

    EXPECT_THROW(book.returned(chunk, 0), ContractViolation);
    EXPECT_THROW(book.check_holds({.id = 6, .first = 24, .count = 4}, 1), ContractViolation);
    book.returned(chunk, 1);
    EXPECT_THROW(book.returned(chunk, 1), ContractViolation);
}

TEST(GrantBook, CountsTimeInWhichTheTickingThreadWaitedForACpu) {
    const Instant begin = Clock::now();
    GrantBook suspended(1, 1, begin);
    GrantBook starved(1, 1, begin);

    suspended.tick(begin + 1h, 0s);
    starved.tick(begin + 1h, 1h - 200ms);

    EXPECT_EQ(suspended.running_time(begin + 1h), 1s);
    EXPECT_EQ(starved.running_time(begin + 1h), 1h);
}

}  // namespace
}  // namespace sluice

#include "comm/backoff.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::chrono::milliseconds longest{2};

/// Asks until the pause is the longest there is; that takes as long as the back-off is meant to take.
void idle_until_longest(Backoff& backoff) {
    while (backoff.next() < longest) {
    }
}

TEST(Backoff, LooksAgainAtOnceAtFirst) {
    Backoff backoff;

    EXPECT_EQ(backoff.next().count(), 0);
}

TEST(Backoff, PausesLongerTheLongerNothingHappensUpToALimit) {
    Backoff backoff;
    std::chrono::nanoseconds last{0};

    for (int i = 0; i < 100'000; ++i) {
        const std::chrono::nanoseconds pause = backoff.next();
        ASSERT_GE(pause, last);
        ASSERT_LE(pause, longest);
        last = pause;
    }
    idle_until_longest(backoff);

    EXPECT_EQ(backoff.next(), longest);
}

TEST(Backoff, PausesNoLongerThanAsked) {
    Backoff backoff;
    idle_until_longest(backoff);

    EXPECT_EQ(backoff.next(Backoff::in_transit), Backoff::in_transit);
    EXPECT_EQ(backoff.next(), longest);
}

TEST(Backoff, StartsAgainAfterWork) {
    Backoff backoff;
    idle_until_longest(backoff);

    backoff.reset();

    EXPECT_EQ(backoff.next().count(), 0);
}

}  // namespace
}  // namespace sluice

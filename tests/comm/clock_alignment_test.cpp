#include "comm/clock_alignment.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/error.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

/// A round that starts at `sent` on a clock that is `offset` ahead of the remote one.
PingPong round(nanoseconds sent, nanoseconds there, nanoseconds back, nanoseconds offset) {
    return {sent, sent + there - offset, sent + there + back};
}

TEST(ClockOffset, IsExactWhenBothWaysTakeEquallyLong) {
    const std::vector rounds{round(nanoseconds(1000), nanoseconds(50), nanoseconds(50), nanoseconds(12'345))};

    const ClockOffset offset = offset_from(rounds);

    EXPECT_EQ(offset.offset, nanoseconds(12'345));
    EXPECT_EQ(offset.error, nanoseconds(50));
}

TEST(ClockOffset, IsOffByAtMostItsErrorHoweverUnequalTheWaysAre) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 2000; ++i) {
        const nanoseconds truth(static_cast<std::int64_t>(random() % 2'000'000) - 1'000'000);
        std::vector<PingPong> rounds;
        for (int r = 0; r < 8; ++r) {
            const nanoseconds there(static_cast<std::int64_t>(random() % 1000));
            const nanoseconds back(random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 100'000));
            rounds.push_back(round(nanoseconds(1'000'000 * r), there, back, truth));
        }

        const ClockOffset offset = offset_from(rounds);

        ASSERT_LE(std::chrono::abs(offset.offset - truth), offset.error);
    }
}

TEST(ClockOffset, BelievesTheQuickestRound) {
    const std::vector rounds{round(nanoseconds(0), nanoseconds(90'000), nanoseconds(10), nanoseconds(500)),
                             round(nanoseconds(200'000), nanoseconds(10), nanoseconds(10), nanoseconds(500)),
                             round(nanoseconds(400'000), nanoseconds(10), nanoseconds(90'000), nanoseconds(500))};

    const ClockOffset offset = offset_from(rounds);

    EXPECT_EQ(offset.offset, nanoseconds(500));
    EXPECT_EQ(offset.error, nanoseconds(10));
}

TEST(ClockOffset, NeedsARound) {
    EXPECT_THROW(static_cast<void>(offset_from({})), ContractViolation);
}

}  // namespace
}  // namespace sluice

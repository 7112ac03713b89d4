#include "tools/runtime/recent_rates.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(RecentRates, AreThoseOfTheLastTenSeconds) {
    RecentRates rates;
    const auto rate_after = [&](int seconds, std::uint64_t items) {
        RunStatus status{.items_before = 1000, .items_done = 1000 + items, .ranks = {{.items = items}}};
        rates.take(status, Instant(std::chrono::seconds(seconds)));
        EXPECT_EQ(status.ranks[0].items_per_second, status.items_per_second);
        return status.items_per_second;
    };

    EXPECT_EQ(rate_after(100, 0), 0);
    EXPECT_EQ(rate_after(104, 40), 10);
    EXPECT_EQ(rate_after(108, 160), 20);
    EXPECT_EQ(rate_after(114, 340), 30) << "in ten seconds";
    EXPECT_EQ(rate_after(118, 660), 50) << "again";
}

}  // namespace
}  // namespace sluice

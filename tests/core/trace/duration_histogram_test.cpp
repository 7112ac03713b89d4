#include "core/trace/duration_histogram.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

void expect_about(std::uint64_t got, std::uint64_t exact) {
    EXPECT_GE(got, exact);
    EXPECT_LE(got, exact + exact / 4);
}

TEST(DurationHistogram, IsEmptyAtFirst) {
    EXPECT_EQ(DurationHistogram().p99(), 0U);
}

TEST(DurationHistogram, GivesAnyDurationBackToAQuarter) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t less : {0U, 1U}) {
            const std::uint64_t duration = (std::uint64_t{1} << bit) - less;
            DurationHistogram histogram;
            histogram.add(duration);
            EXPECT_GE(histogram.p99(), duration);
            EXPECT_LE(histogram.p99() - duration, duration / 4);
        }
    }
    DurationHistogram longest;
    longest.add(UINT64_MAX);
    EXPECT_EQ(longest.p99(), UINT64_MAX);
}

TEST(DurationHistogram, ForgivesOneLongOneInAHundred) {
    DurationHistogram histogram;
    histogram.add(1'000'000);
    for (int i = 0; i < 98; ++i) {
        histogram.add(1000);
    }
    expect_about(histogram.p99(), 1'000'000);

    histogram.add(1000);
    expect_about(histogram.p99(), 1000);

    histogram.add(1'000'000);
    expect_about(histogram.p99(), 1'000'000);
}

}  // namespace
}  // namespace sluice

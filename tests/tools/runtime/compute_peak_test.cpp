#include "tools/runtime/compute_peak.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

double never() {
    throw ContractViolation("what is kept needs no measurement");
}

TEST(ComputePeak, IsThatOfARealProduct) {
    const double peak = measure_host_peak();

    EXPECT_GT(peak, 1e8) << "no core is that slow";
    EXPECT_LT(peak, 1e13) << "or that fast";
}

TEST(ComputePeak, IsMeasuredOnceAfterALongRun) {
    const TemporaryFolder folder;
    PeakSearch search{.file = folder.path() / "sluice" / "costs.json", .key = "host | a", .measure = never};
    Roofline roofline;
    find_peak(roofline, search);
    EXPECT_EQ(roofline.peak, std::nullopt);
    EXPECT_NE(roofline.note, "");

    search.may_measure = true;
    search.measure = [] { return 5e10; };
    roofline = {};
    find_peak(roofline, search);
    EXPECT_EQ(roofline.peak, 5e10);
    EXPECT_EQ(roofline.note, "");

    search.measure = never;
    roofline = {};
    find_peak(roofline, search);
    EXPECT_EQ(roofline.peak, 5e10);

    search.key = "host | b";
    EXPECT_THROW(find_peak(roofline, search), ContractViolation);
}

TEST(ComputePeak, NeedsNoCache) {
    Roofline roofline;

    find_peak(roofline, {.may_measure = true, .measure = [] { return 7e10; }});

    EXPECT_EQ(roofline.peak, 7e10);
}

}  // namespace
}  // namespace sluice

#include "scheduler/roofline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scheduler/verdict.hpp"

namespace sluice {
namespace {

/// 100 items a second.
Verdict steady_run() {
    Verdict verdict;
    verdict.bound = Bound::nothing;
    verdict.steady = 100;
    return verdict;
}

TEST(Roofline, IsTheShareOfWhatADeviceCan) {
    const Roofline roofline{.flop_per_item = 1e9, .peak = 80e9, .note = {}};

    const nlohmann::json json = roofline_json(roofline, steady_run(), 2);

    EXPECT_EQ(json.at("achieved"), 50e9);
    EXPECT_EQ(json.at("peak"), 80e9);
    EXPECT_EQ(json.at("share"), 0.625);
    EXPECT_EQ(roofline_text(roofline, steady_run(), 2), "compute: 50 of 80 GFLOP/s a device (62.5 %) in fp32\n");
}

TEST(Roofline, SaysWhatProductsAreComputedAs) {
    const Roofline roofline{
        .flop_per_item = 1e9, .precision = Precision::fp16, .products = 3, .peak = 80e9, .note = {}};

    const nlohmann::json json = roofline_json(roofline, steady_run(), 2);

    EXPECT_EQ(json.at("precision"), "fp16");
    EXPECT_EQ(json.at("products"), 3);
    EXPECT_THAT(roofline_text(roofline, steady_run(), 2),
                testing::EndsWith("(62.5 %) by 3 products in fp16 for one\n"));
}

TEST(Roofline, HasNoShareOfWhatIsNotKnown) {
    const Roofline unmeasured{.flop_per_item = 1e9, .note = "not measured"};

    EXPECT_EQ(roofline_json(unmeasured, steady_run(), 2).at("share"), nullptr);
    EXPECT_EQ(roofline_text(unmeasured, steady_run(), 2), "compute: 50 GFLOP/s a device; not measured\n");
    EXPECT_EQ(roofline_json({.peak = 1e9, .note = {}}, steady_run(), 2).at("achieved"), nullptr)
        << "an app that does not say";
    EXPECT_EQ(roofline_text(unmeasured, Verdict(), 2), "") << "nothing was recorded";
    EXPECT_EQ(roofline_text(unmeasured, steady_run(), 0), "");
}

}  // namespace
}  // namespace sluice

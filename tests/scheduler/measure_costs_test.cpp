#include "scheduler/measure_costs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "core/device/host_device.hpp"
#include "tests/support/streaming_model.hpp"

namespace sluice {
namespace {

using Curve = std::function<double(double items)>;

/// A device whose chunks take what a curve says.
struct CurveDevice {
    StageTimes operator()(std::uint32_t items) {
        const double compute = curve(items);
        sizes.push_back(items);
        spent += compute + copies;
        return {.upload = copies / 2, .compute = compute, .download = copies / 2, .elapsed = compute + copies};
    }

    Curve curve;
    double copies = 0;
    std::vector<std::uint32_t> sizes{};
    double spent = 0;
};

CostModel measure(CurveDevice& device, const MeasuringOptions& options) {
    return measure_costs(device, options);
}

TEST(MeasureCosts, FindsTheWaveAndTheLineOfAFastGpu) {
    for (const double jitter : {0.0, 0.01}) {
        int turn = 0;
        CurveDevice gpu{.curve = [&](double items) {
            const double disturbed = 1 + jitter * (turn++ % 3);
            return (62e-6 + 112 * 0.742e-6 * std::ceil(items / 112)) * disturbed;
        }};

        const CostModel costs = measure(gpu, {.most_items = 8192});

        EXPECT_EQ(costs.whole_items % 112, 0U) << "waves of 112 items: " << costs.whole_items;
        EXPECT_NEAR(costs.compute.fixed, 62e-6, 10e-6);
        EXPECT_NEAR(costs.compute.per_item, 0.742e-6, 0.01e-6);
        EXPECT_GE(costs.largest_measured, 2048U);
        EXPECT_LT(gpu.spent, 0.2);
    }
}

class AnyCurve : public testing::TestWithParam<std::pair<const char*, Curve>> {};

TEST_P(AnyCurve, StaysWithinTheBudget) {
    for (const std::uint32_t most : {1U, 7U, 63U, 64U, 1000U, 8192U, 1U << 20U}) {
        for (const double budget : {0.5, 2.0}) {
            CurveDevice device{.curve = GetParam().second};

            const CostModel costs = measure(device, {.most_items = most, .budget = budget});

            EXPECT_LE(device.spent, std::max(budget, device.curve(1)) + 1e-9) << most;
            EXPECT_LE(*std::ranges::max_element(device.sizes), most);
            EXPECT_EQ(costs.largest_measured <= most && costs.whole_items <= most, true);
            EXPECT_GT(costs.compute.of(1), 0);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Curves, AnyCurve,
    testing::Values(std::pair<const char*, Curve>{"Fast", [](double items) { return 60e-6 + 0.75e-6 * items; }},
                    std::pair<const char*, Curve>{"Generator", [](double items) { return 0.1 * items; }},
                    std::pair<const char*, Curve>{"SlowStart", [](double items) { return 0.4 + 0.01 * items; }},
                    std::pair<const char*, Curve>{"Flat", [](double) { return 0.05; }},
                    std::pair<const char*, Curve>{"FlatThenLinear",
                                                  [](double items) { return 0.03 * std::max(1.0, items / 4096); }},
                    std::pair<const char*, Curve>{"Steps", [](double items) { return 0.3 * std::ceil(items / 8); }},
                    std::pair<const char*, Curve>{"FineSteps",
                                                  [](double items) { return 1e-3 * std::ceil(items / 3); }},
                    std::pair<const char*, Curve>{"Quadratic", [](double items) { return 1e-4 * items * items; }},
                    std::pair<const char*, Curve>{"Endless", [](double) { return 5.0; }}),
    [](const auto& curve) { return curve.param.first; });

TEST(MeasureCosts, LearnsWhatAGeneratorTakesPerItem) {
    CurveDevice device{.curve = [](double items) { return 0.02 + 0.1 * items; }};

    const CostModel costs = measure(device, {.most_items = 8192});

    EXPECT_NEAR(costs.compute.per_item, 0.1, 1e-6);
    EXPECT_NEAR(costs.compute.fixed, 0.02, 1e-6);
    EXPECT_EQ(costs.whole_items, 1U);
}

TEST(MeasureCosts, KeepsToTheSizesThatTheAppWants) {
    CurveDevice device{.curve = [](double items) { return 1e-3 + 1e-6 * items; }};

    const CostModel costs =
        measure(device, {.limits = {.least = 100, .most = 1000, .multiple = 48}, .most_items = 8192});

    EXPECT_EQ(costs.whole_items, 48U) << "nothing to search for";
    for (const std::uint32_t items : device.sizes) {
        EXPECT_EQ(items % 48, 0U);
        EXPECT_GE(items, 100U);
        EXPECT_LE(items, 1000U);
    }
}

TEST(MeasureCosts, TimesTheLeastSizeWhateverItTakes) {
    CurveDevice device{.curve = [](double items) { return 0.1 * items; }};

    const CostModel costs = measure(device, {.limits = {.least = 64}, .most_items = 8192});

    EXPECT_EQ(device.sizes, std::vector<std::uint32_t>{64});
    EXPECT_DOUBLE_EQ(costs.compute.per_item, 0.1);
}

/// A decoder of long texts: a chunk of one text takes as long as one of a thousand.
Curve slow_and_flat(double seconds) {
    return [seconds](double items) { return seconds * std::max(1.0, items / 1000); };
}

TEST(MeasureCosts, SpendsAShareOfALargeJobOnASlowModelWhoseRateRises) {
    for (const double seconds : {0.48, 1.5, 20.0}) {
        SCOPED_TRACE(seconds);
        constexpr std::uint64_t job_items = 100'000;
        CurveDevice device{.curve = slow_and_flat(seconds)};

        const CostModel costs = measure(device, {.limits = {.least = 64}, .most_items = 8192, .job_items = job_items});

        EXPECT_GE(costs.largest_measured, 1024U);
        EXPECT_LE(costs.compute.of(costs.largest_measured), 1.2 * device.curve(costs.largest_measured));
        const double best_run = seconds / 1000 * job_items;
        EXPECT_LE(device.spent, 2 + 2 * seconds + 0.1 * best_run);
        const std::vector<std::uint32_t> devices{1, 8};
        const ChunkChoice choice =
            choose_chunk(costs, {.items = job_items, .least_items = 64, .most_items = 1U << 20U, .devices = devices});
        EXPECT_GE(choice.items, 1000U) << choice.reason;
    }
}

TEST(MeasureCosts, TakesLongStepsAndTimesThemOnceWhereTimeIsShort) {
    CurveDevice device{.curve = slow_and_flat(0.28)};

    static_cast<void>(measure(device, {.limits = {.least = 64}, .most_items = 8192}));

    EXPECT_EQ(device.sizes, (std::vector<std::uint32_t>{64, 64, 256, 1024})) << "the first call loads the kernels";
    EXPECT_LE(device.spent, 2);
}

/// Texts of 128 tokens, of which a job of a quarter of a minute is long enough to measure a thousand.
TEST(MeasureCosts, MeasuresALargeChunkOfAShortJobWhoseRateRises) {
    CurveDevice device{.curve = [](double items) { return 0.28 + 0.00026 * items; }};

    static_cast<void>(measure(device, {.limits = {.least = 62}, .most_items = 8192, .job_items = 20'000}));

    EXPECT_EQ(device.sizes, (std::vector<std::uint32_t>{62, 62, 248, 992}));
}

TEST(MeasureCosts, SpendsNoMoreThanTheBudgetOnASmallJobOrARateThatStays) {
    CurveDevice flat{.curve = slow_and_flat(0.9)};
    EXPECT_EQ(measure(flat, {.limits = {.least = 64}, .most_items = 8192, .job_items = 1000}).is_complete, false);
    EXPECT_EQ(flat.sizes, std::vector<std::uint32_t>{64}) << "256 are more than a sixteenth";

    CurveDevice linear{.curve = [](double items) { return 0.5 * items; }};
    EXPECT_EQ(measure(linear, {.most_items = 8192, .job_items = 100'000}).is_complete, false);
    EXPECT_EQ(linear.sizes, (std::vector<std::uint32_t>{1, 1, 4})) << "4 took four times as long";
}

TEST(MeasureCosts, TellsWhetherMoreTimeWouldTellMore) {
    CurveDevice fast{.curve = [](double items) { return 1e-4 + 1e-6 * items; }};
    EXPECT_TRUE(measure(fast, {.most_items = 8192}).is_complete);
    CurveDevice few{.curve = slow_and_flat(0.01)};
    EXPECT_TRUE(measure(few, {.most_items = 8}).is_complete);
    CurveDevice slow{.curve = slow_and_flat(0.9)};
    EXPECT_FALSE(measure(slow, {.most_items = 8192}).is_complete);
}

TEST(MeasureCosts, TimesAModelThatHoldsChunksBack) {
    HostDevice device;
    test::StreamingModel model(8, 2);
    std::vector<std::byte> sample(3 * test::fake_input_bytes);

    const CostModel costs = measure_costs(device, model, sample, {.most_items = 100});

    EXPECT_GE(costs.largest_measured, 50U);
    EXPECT_LE(costs.largest_measured, 100U);
    EXPECT_GT(costs.compute.of(100), 0);
    EXPECT_GE(costs.upload.of(100), 0);
}

}  // namespace
}  // namespace sluice

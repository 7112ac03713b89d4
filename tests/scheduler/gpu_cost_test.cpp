#include "scheduler/gpu_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json_types.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::DoubleEq;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

GpuUse use_of(const char* gpu, double mhz, double watts, double joules) {
    return {.gpu = gpu,
            .samples = 10,
            .time = 10s,
            .clock_mhz = GpuClock{.least = mhz - 100, .mean = mhz, .most = mhz + 100},
            .watts = watts,
            .joules = joules,
            .joules_are_counted = true,
            .limit_shares = std::vector<double>(gpu_limits.size())};
}

RankReport rank_with(int number, std::vector<GpuUse> gpus, std::string note = {}) {
    RankReport rank;
    rank.rank = number;
    rank.facts.gpus.assign(2, "NVIDIA H200");
    rank.facts.gpu_uses = {.gpus = std::move(gpus), .note = std::move(note)};
    return rank;
}

TEST(GpuCost, IsOfAllGpusAndPerMillionItems) {
    const std::vector<RankReport> ranks{
        rank_with(0, {use_of("GPU-a", 1500, 400, 4000), use_of("GPU-b", 1700, 500, 5000)}),
        rank_with(1, {use_of("GPU-c", 1900, 600, 6000)})};  // it shares a GPU

    const auto cost = gpu_cost(ranks, 500'000, 36s);

    ASSERT_TRUE(cost.has_value());
    EXPECT_EQ(cost->gpus, 3U);
    EXPECT_EQ(cost->clock_mhz->least, 1400);
    EXPECT_DOUBLE_EQ(cost->clock_mhz->mean, 1700);
    EXPECT_EQ(cost->clock_mhz->most, 2000);
    EXPECT_THAT(cost->watts, Optional(DoubleEq(1500)));
    EXPECT_THAT(cost->joules_per_million, Optional(DoubleEq(30'000)));
    EXPECT_THAT(cost->hours_per_million, Optional(DoubleEq(0.06)));
    EXPECT_EQ(text_of(cost), "3 GPUs, 1700 MHz (1400 to 2000), 1500 W; a million items: 0.06 GPU-hours, 30 kJ\n");
}

TEST(GpuCost, SaysWhyItIsNotKnownAndHasNoFalseNumbers) {
    const std::vector<RankReport> ranks{rank_with(0, {use_of("GPU-a", 1500, 400, 4000)}),
                                        rank_with(1, {}, "libnvidia-ml.so.1: cannot open")};

    const auto cost = gpu_cost(ranks, 1'000'000, 3600s);

    EXPECT_EQ(cost->gpus, 4U);
    EXPECT_EQ(cost->joules, std::nullopt) << "one rank's are not all";
    EXPECT_EQ(cost->watts, std::nullopt);
    EXPECT_THAT(cost->hours_per_million, Optional(DoubleEq(4)));
    EXPECT_THAT(text_of(cost), HasSubstr("not known: libnvidia-ml.so.1: cannot open"));
    EXPECT_EQ(nlohmann::json(cost).at("joules"), nullptr);
}

TEST(GpuCost, IsNoneOnAHost) {
    EXPECT_EQ(text_of(gpu_cost(std::vector<RankReport>(2), 10, 1s)), "");
    EXPECT_EQ(nlohmann::json(gpu_cost(std::vector<RankReport>(2), 10, 1s)), nullptr);
}

TEST(GpuLimits, NameTheGpuThatMetThemMost) {
    GpuUse hot = use_of("GPU-a", 1500, 400, 4000);
    hot.limit_shares[2] = 0.9;  // power_cap
    hot.limit_shares[6] = 0.3;  // thermal_hardware
    GpuUse hotter = use_of("GPU-b", 1500, 400, 4000);
    hotter.limit_shares[0] = 1;  // idle
    hotter.limit_shares[6] = 0.4;
    GpuUse cool = use_of("GPU-c", 1500, 400, 4000);
    cool.limit_shares[3] = 0.04;
    const std::vector<RankReport> ranks{rank_with(0, {hot, cool}), rank_with(1, {hotter})};

    const std::vector<GpuLimited> limits = find_gpu_limits(ranks);

    ASSERT_THAT(limits, SizeIs(2)) << "idleness and rare limits are none";
    EXPECT_EQ(text_of(limits[0], ranks),
              "1 of 3 GPUs was power-limited: GPU-a of rank 0 in 90 % of its samples; usual at full load");
    EXPECT_EQ(
        text_of(limits[1], ranks),
        "2 of 3 GPUs were slowed down by heat (hardware): GPU-b of rank 1 in 40 % of its samples; a matter of the "
        "node's cooling or power");
}

}  // namespace
}  // namespace sluice

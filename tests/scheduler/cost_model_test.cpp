#include "scheduler/cost_model.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "core/error.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

/// 60 µs and 0.75 µs per item of compute, 10 µs and 20 ns of copies.
CostModel gpu_costs() {
    return {.upload = {10e-6, 20e-9}, .compute = {60e-6, 0.75e-6}, .download = {5e-6, 0}, .whole_items = 224};
}

TEST(FitCost, FindsTheLineThatTheSamplesLieOn) {
    const StageCost line{.fixed = 80e-6, .an_item = 0.8e-6};
    std::vector<CostSample> samples;
    for (const std::uint32_t items : {1U, 226U, 452U, 4096U, 16384U}) {
        samples.push_back({items, line.of(items)});
    }
    const StageCost fitted = fit_cost(samples);
    EXPECT_NEAR(fitted.fixed, line.fixed, 1e-9);
    EXPECT_NEAR(fitted.an_item, line.an_item, 1e-12);
}

TEST(FitCost, WeighsEverySampleByItsRelativeError) {
    // One percent off at the large end is far more time than the fixed cost of 10 µs, and must not hide it.
    const StageCost fitted = fit_cost(std::vector<CostSample>{{100, 110e-6}, {1000, 1010e-6}, {100'000, 0.101}});
    EXPECT_GT(fitted.fixed, 5e-6);
    EXPECT_LT(fitted.fixed, 15e-6);
}

TEST(FitCost, HasNoNegativeNumbers) {
    const StageCost steep = fit_cost(std::vector<CostSample>{{100, 50e-6}, {200, 200e-6}});
    EXPECT_EQ(steep.fixed, 0);
    EXPECT_GT(steep.an_item, 0);
    const StageCost falling = fit_cost(std::vector<CostSample>{{100, 50e-6}, {200, 20e-6}});
    EXPECT_GT(falling.fixed, 0);
    EXPECT_EQ(falling.an_item, 0);
}

TEST(FitCost, TakesAnythingProportionalFromOneSize) {
    EXPECT_EQ(fit_cost(std::vector<CostSample>{{100, 1e-3}}), (StageCost{.fixed = 0, .an_item = 1e-5}));
    EXPECT_EQ(fit_cost(std::vector<CostSample>{{100, 1e-3}, {100, 1e-3}}).fixed, 0);
}

TEST(FitCost, RefusesSamplesThatCannotBe) {
    EXPECT_THROW((void)fit_cost({}), ContractViolation);
    EXPECT_THROW((void)fit_cost(std::vector<CostSample>{{0, 1}}), ContractViolation);
    EXPECT_THROW((void)fit_cost(std::vector<CostSample>{{1, -1}}), ContractViolation);
    EXPECT_THROW((void)fit_cost(std::vector<CostSample>{{1, std::numeric_limits<double>::infinity()}}),
                 ContractViolation);
}

TEST(BestRate, IsTheLastSizeBeforeAWaveBegins) {
    std::vector<CostSample> samples;
    for (std::uint32_t items = 16; items <= 512; items += 16) {
        samples.push_back({items, 10e-6 + 100e-6 * ((items + 75) / 76)});  // waves of 76 items
    }
    EXPECT_EQ(best_rate(samples), 304U);  // four waves
}

TEST(ChooseChunk, TakesTheSmallestMultipleWhoseFixedCostHardlyCounts) {
    const ChunkChoice choice = choose_chunk(gpu_costs(), 10'000'000, 16384);
    EXPECT_EQ(choice.items % 224, 0U);
    const auto share = [](double n) { return 60e-6 / (60e-6 + 0.75e-6 * n); };
    EXPECT_LE(share(choice.items), 1.0 / 40);
    EXPECT_GT(share(choice.items - 224), 1.0 / 40);
    EXPECT_EQ(choice.depth, 3U);
    EXPECT_THAT(choice.reason, HasSubstr("chunks of 3136 items, its fixed cost no longer matters: compute takes "
                                         "60 µs + 0.75 µs per item, 2.5 % of that fixed; copies 78 µs"));
}

TEST(ChooseChunk, MakesSixteenChunksOfASmallJobButWastesNoWave) {
    const ChunkChoice some = choose_chunk(gpu_costs(), 8192, 16384);
    EXPECT_EQ(some.items, 448U);
    EXPECT_THAT(some.reason, HasSubstr("a sixteenth of the job"));
    EXPECT_EQ(choose_chunk(gpu_costs(), 1000, 16384).items, 224U);
    const ChunkChoice one = choose_chunk(gpu_costs(), 100, 16384);
    EXPECT_EQ(one.items, 100U);
    EXPECT_THAT(one.reason, HasSubstr("chunks of 100 items, the whole job"));
    EXPECT_EQ(choose_chunk(gpu_costs(), 1, 16384).items, 1U);
    EXPECT_EQ(choose_chunk(gpu_costs(), 0, 16384).items, 1U);
}

TEST(ChooseChunk, StaysWithinMemory) {
    const ChunkChoice choice = choose_chunk(gpu_costs(), 10'000'000, 1024);
    EXPECT_EQ(choice.items, 896U);
    EXPECT_THAT(choice.reason, HasSubstr("what memory allows"));
    EXPECT_EQ(choose_chunk(gpu_costs(), 10'000'000, 100).items, 100U);
    EXPECT_EQ(choose_chunk(gpu_costs(), 10'000'000, 1).items, 1U);
}

TEST(ChooseChunk, LooksAtTheStageThatBinds) {
    CostModel costs = gpu_costs();
    costs.upload = {.fixed = 10e-6, .an_item = 5e-6};  // 284 kB an item over PCIe
    const ChunkChoice choice = choose_chunk(costs, 10'000'000, 16384);
    EXPECT_EQ(choice.items, 224U);
    EXPECT_GT(choice.depth, 3U);
}

TEST(ChooseChunk, HoldsForCostsWithoutAFixedPartOrWithoutAnyOther) {
    EXPECT_EQ(choose_chunk({.upload = {}, .compute = {0, 1e-6}, .download = {}, .whole_items = 1}, 1000, 100).items,
              1U);
    EXPECT_EQ(choose_chunk({.upload = {}, .compute = {1e-3, 0}, .download = {}, .whole_items = 1}, 100'000, 100).items,
              100U);
    EXPECT_EQ(choose_chunk({.upload = {}, .compute = {}, .download = {}, .whole_items = 7}, 100'000, 100).items, 7U);
    EXPECT_GE(choose_chunk(gpu_costs(), std::numeric_limits<std::uint64_t>::max(), 16384).items, 224U);
}

}  // namespace
}  // namespace sluice

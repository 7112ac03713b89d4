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
    return {.upload = {10e-6, 20e-9},
            .compute = {60e-6, 0.75e-6},
            .download = {5e-6, 0},
            .whole_items = 224,
            .largest_measured = 3584};
}

TEST(FitCost, FindsTheLineThatTheSamplesLieOn) {
    const StageCost line{.fixed = 80e-6, .per_item = 0.8e-6};
    std::vector<CostSample> samples;
    for (const std::uint32_t items : {1U, 226U, 452U, 4096U, 16384U}) {
        samples.push_back({items, line.of(items)});
    }
    const StageCost fitted = fit_cost(samples);
    EXPECT_NEAR(fitted.fixed, line.fixed, 1e-9);
    EXPECT_NEAR(fitted.per_item, line.per_item, 1e-12);
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
    EXPECT_GT(steep.per_item, 0);
    const StageCost falling = fit_cost(std::vector<CostSample>{{100, 50e-6}, {200, 20e-6}});
    EXPECT_GT(falling.fixed, 0);
    EXPECT_EQ(falling.per_item, 0);
}

TEST(FitCost, TakesAnythingProportionalFromOneSize) {
    EXPECT_EQ(fit_cost(std::vector<CostSample>{{100, 1e-3}}), (StageCost{.fixed = 0, .per_item = 1e-5}));
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

TEST(PredictSeconds, AddsTheStagesOfALoneChunk) {
    const CostModel costs{.upload = {1, 0.5}, .compute = {2, 1}, .download = {3, 0.25}};

    EXPECT_DOUBLE_EQ(predict_seconds(costs, 4, 10, 1), 3 + 6 + 4);
    EXPECT_DOUBLE_EQ(predict_seconds(costs, 4, 4, 7), 3 + 6 + 4);
}

TEST(PredictSeconds, LetsTheSlowestStageSetThePaceOfTheOthers) {
    const CostModel costs{.upload = {0, 0.5}, .compute = {0, 1}, .download = {0, 0.25}};

    EXPECT_DOUBLE_EQ(predict_seconds(costs, 40, 4, 1), 9 * 4.0 + 7.0);
    EXPECT_DOUBLE_EQ(predict_seconds(costs, 38, 4, 1), 9 * 4.0 + 3.5) << "the last chunk is half as large";
}

TEST(PredictSeconds, LetsDevicesWaitForTheLastRound) {
    const CostModel costs{.upload = {}, .compute = {0, 1}, .download = {}};

    EXPECT_DOUBLE_EQ(predict_seconds(costs, 40, 10, 4), 10);
    EXPECT_DOUBLE_EQ(predict_seconds(costs, 40, 10, 3), 20);
    EXPECT_DOUBLE_EQ(predict_seconds(costs, 31, 10, 3), 11) << "the last round is one short chunk";
}

TEST(PredictSeconds, CountsPartFilledWavesAsWholeOnes) {
    const CostModel costs{.upload = {}, .compute = {0, 1}, .download = {}, .whole_items = 8};

    EXPECT_DOUBLE_EQ(predict_seconds(costs, 9, 9, 1), 16);
}

constexpr std::uint32_t one_device[] = {1};
constexpr std::uint32_t a_node[] = {1, 2, 4, 8};
constexpr std::uint32_t any_size = 1U << 20U;

ChunkJob job_of(std::uint64_t items) {
    return {.items = items, .least_items = 1, .most_items = any_size, .devices = a_node};
}

TEST(ChooseChunk, LosesLittleOnAnyNumberOfDevices) {
    for (const std::uint64_t items : {100'000ULL, 1'000'000ULL, 4'260'000ULL, 1'000'000'000ULL}) {
        const ChunkChoice choice = choose_chunk(gpu_costs(), job_of(items));
        EXPECT_EQ(choice.items % 224, 0U);
        EXPECT_GE(choice.items, 4096U) << items;
        EXPECT_LE(choice.items, 16384U) << items;
        EXPECT_EQ(choice.depth, 3U);
        for (const std::uint32_t devices : a_node) {
            const double chosen = predict_seconds(gpu_costs(), items, choice.items, devices);
            for (const std::uint32_t other : {448U, 1120U, 2240U, 3584U, 7168U, 14336U}) {
                EXPECT_LE(chosen, 1.01 * predict_seconds(gpu_costs(), items, other, devices))
                    << items << " items, " << devices << " devices, " << other << " in a chunk";
            }
        }
    }
}

TEST(ChooseChunk, SaysWhy) {
    EXPECT_THAT(
        choose_chunk(gpu_costs(), job_of(4'260'000)).reason,
        testing::MatchesRegex("chunks of [0-9]+ items, a run at most 0.[0-9] % longer than with the best size on "
                              "1, 2, 4, 8 devices: compute takes 60 µs \\+ 0.75 µs per item, 1.[0-9] % of that "
                              "fixed; copies [0-9]+ µs"));
}

TEST(ChooseChunk, GivesEachOfEightDevicesAPartOfASmallJob) {
    const ChunkChoice choice = choose_chunk(gpu_costs(), job_of(8192));

    EXPECT_GE((8192 + choice.items - 1) / choice.items, 8U);
    EXPECT_LE(predict_seconds(gpu_costs(), 8192, choice.items, 1), 1.1 * predict_seconds(gpu_costs(), 8192, 8192, 1));
}

TEST(ChooseChunk, TakesAJobOfLessThanAWaveAsAChunk) {
    for (const std::uint64_t items : {1U, 100U, 224U}) {
        const ChunkChoice choice = choose_chunk(gpu_costs(), job_of(items));
        EXPECT_EQ(choice.items, items);
        EXPECT_THAT(choice.reason, HasSubstr("the whole job"));
    }
    EXPECT_EQ(choose_chunk(gpu_costs(), job_of(0)).items, 1U);
}

TEST(ChooseChunk, StaysWithinItsLimits) {
    ChunkJob job = job_of(10'000'000);
    job.most_items = 1024;
    const ChunkChoice choice = choose_chunk(gpu_costs(), job);
    EXPECT_EQ(choice.items, 896U);
    EXPECT_THAT(choice.reason, HasSubstr("what app and memory allow"));
    job.most_items = 100;
    EXPECT_EQ(choose_chunk(gpu_costs(), job).items, 100U) << "less than a wave";
    job.most_items = 1;
    EXPECT_EQ(choose_chunk(gpu_costs(), job).items, 1U);
    job.least_items = 20'000;
    job.most_items = any_size;
    EXPECT_EQ(choose_chunk(gpu_costs(), job).items, 20'160U) << "the next whole wave";
}

TEST(ChooseChunk, TrustsNoLineFarBeyondWhatWasMeasured) {
    const CostModel flat{.upload = {}, .compute = {0.03, 0}, .download = {}, .whole_items = 1, .largest_measured = 500};

    const ChunkChoice choice = choose_chunk(flat, job_of(1'000'000));

    EXPECT_LE(choice.items, 2000U);
    EXPECT_GT(choice.items, 1800U);
    EXPECT_THAT(choice.reason, HasSubstr("four times what was measured"));

    CostModel long_texts = flat;
    long_texts.compute = {0.3, 1e-5};  // larger sizes would have taken too long

    const ChunkChoice of_long_texts = choose_chunk(long_texts, job_of(1'000'000));

    EXPECT_LE(of_long_texts.items, 4000U);
    EXPECT_GT(of_long_texts.items, 3700U);
    EXPECT_THAT(of_long_texts.reason, HasSubstr("eight times what was measured"));
}

/// Two seconds would leave no item of a chunk whose first takes two.
TEST(ChooseChunk, LetsAChunkTakeAMultipleOfItsFixedCost) {
    struct Case {
        double fixed;
        double seconds;
        const char* reason;
    };
    for (const Case& one : {Case{0.19, 2, "two seconds of compute"},
                            {0.3, 3, "ten times the fixed part of compute"},
                            {0.9, 5, "five seconds of compute"},
                            {2, 10, "five times the fixed part of compute"}}) {
        const CostModel long_texts{
            .upload = {}, .compute = {one.fixed, 1e-3}, .download = {}, .whole_items = 1, .largest_measured = 4096};

        const ChunkChoice choice = choose_chunk(long_texts, job_of(1'000'000));

        EXPECT_GT(choice.items, 930 * (one.seconds - one.fixed)) << one.fixed;
        EXPECT_LE(choice.items, 1000 * (one.seconds - one.fixed) + 1e-6) << one.fixed;
        EXPECT_THAT(choice.reason, HasSubstr(one.reason));
    }
}

TEST(ChooseChunk, KeepsAStopFromWaitingForLong) {
    const CostModel slow{
        .upload = {}, .compute = {0.2, 0.1}, .download = {}, .whole_items = 1, .largest_measured = 1000};
    ChunkJob job = job_of(1'000'000);

    EXPECT_EQ(choose_chunk(slow, job).items, 18U);
    job.least_items = 64;
    EXPECT_EQ(choose_chunk(slow, job).items, 64U) << "the app wants no less";
}

TEST(ChooseChunk, LooksAtTheStageThatBinds) {
    CostModel costs = gpu_costs();
    costs.upload = {.fixed = 10e-6, .per_item = 5e-6};  // 284 kB an item over PCIe
    const ChunkChoice choice = choose_chunk(costs, job_of(10'000'000));
    EXPECT_LE(choice.items, 2240U) << "the copies' fixed cost is small: larger chunks only end later";
    EXPECT_GT(choice.depth, 3U);
}

TEST(ChooseChunk, SuitsTheDevicesThatItIsToldOf) {
    ChunkJob job = job_of(8192);
    job.devices = one_device;

    const ChunkChoice alone = choose_chunk(gpu_costs(), job);
    EXPECT_GT(alone.items, 4096U) << "nobody to share it with";
    EXPECT_THAT(alone.reason, testing::AnyOf(testing::HasSubstr("the whole job"), testing::HasSubstr("on 1 device:")));
}

TEST(ChooseChunk, GivesEachOfManyDevicesWork) {
    constexpr std::uint32_t allocation[] = {200};
    const CostModel costs{.upload = {1e-5, 1e-8},
                          .compute = {0.05, 8e-5},  // 16 tokens and 8 new ones by a decoder
                          .download = {1e-5, 1e-8},
                          .whole_items = 1,
                          .largest_measured = 8192};
    const auto seconds = [&](std::uint32_t items) { return predict_seconds(costs, 131'072, items, allocation[0]); };
    ChunkJob job = job_of(131'072);

    const double for_a_node = seconds(choose_chunk(costs, job).items);
    job.devices = allocation;
    const std::uint32_t chosen = choose_chunk(costs, job).items;

    EXPECT_GT(for_a_node, 2 * seconds(chosen));
    EXPECT_GE(131'072 / chosen, allocation[0] * 9 / 10);
    for (std::uint32_t other = 64; other < 8192; other += 64) {
        EXPECT_LE(seconds(chosen), 1.01 * seconds(other)) << other;
    }
}

TEST(ChooseChunk, HoldsForCostsWithoutAFixedPartOrWithoutAnyOther) {
    const auto items_for = [](const StageCost& compute, std::uint32_t whole) {
        return choose_chunk(
                   {.upload = {}, .compute = compute, .download = {}, .whole_items = whole, .largest_measured = 100},
                   {.items = 100'000, .least_items = 1, .most_items = 100, .devices = one_device})
            .items;
    };
    EXPECT_EQ(items_for({0, 1e-6}, 1), 1U);
    EXPECT_GT(items_for({1e-3, 0}, 1), 90U);
    EXPECT_EQ(items_for({}, 7), 7U);
    EXPECT_GE(choose_chunk(gpu_costs(), job_of(std::numeric_limits<std::uint64_t>::max())).items, 224U);
}

}  // namespace
}  // namespace sluice

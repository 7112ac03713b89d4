#include "scheduler/replay.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "core/error.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;

/// 100 chunks of 10 items.
ReplayPlan plan_of(std::size_t devices, ChunkDurations times) {
    ReplayPlan plan{.items = 1000, .chunk_items = 10, .depth = 3, .staged = 6, .window = 96, .devices = {}};
    plan.devices.assign(devices, {times});
    return plan;
}

TEST(Replay, TakesAsLongAsTheBindingStageAndTheOthersOnce) {
    const ReplayPlan plan = plan_of(1, {.items = 10, .upload = 10ms, .compute = 100ms, .download = 20ms});

    EXPECT_NEAR(replay(plan), 100 * 0.1 + 0.03, 1e-9);
}

TEST(Replay, AddsAllStagesUpWhenTheyTakeTurns) {
    ReplayPlan plan = plan_of(1, {.items = 10, .upload = 10ms, .compute = 100ms, .download = 20ms});
    plan.mode = PipelineMode::serial;
    plan.read = 0.001;
    plan.write = 0.002;

    EXPECT_NEAR(replay(plan), 100 * (0.01 + 0.01 + 0.1 + 0.02 + 0.02), 1e-9);
}

TEST(Replay, HalvesWithTwiceTheDevicesWhereComputeBinds) {
    const ChunkDurations times{.items = 10, .upload = 1ms, .compute = 100ms, .download = 1ms};

    EXPECT_NEAR(replay(plan_of(2, times)) / replay(plan_of(1, times)), 0.5, 0.01);
}

TEST(Replay, GivesFewerChunksToASlowDeviceUnlessTheyAreDealtOut) {
    ReplayPlan plan = plan_of(2, {.items = 10, .compute = 100ms});
    plan.devices[1][0].compute = 300ms;

    EXPECT_NEAR(replay(plan), 100 / (1 / 0.1 + 1 / 0.3), 0.5);
    plan.distribution = Distribution::fixed;
    EXPECT_NEAR(replay(plan), 50 * 0.3, 1e-9);
}

TEST(Replay, LetsASlowDeviceWaitNearTheEnd) {
    ReplayPlan plan = plan_of(2, {.items = 10, .compute = 100ms});
    plan.devices[1][0].compute = 3s;

    EXPECT_LT(replay(plan), 100 * 0.1)
        << "than the other one alone; with three more chunks ahead, the slow one takes 18 s";
}

TEST(Replay, GivesASlowDeviceNoThirdChunkAheadOfFew) {
    ReplayPlan plan = plan_of(2, {.items = 10, .compute = 100ms});
    plan.items = 120;
    plan.devices[1][0].compute = 1s;

    EXPECT_NEAR(replay(plan), 2.0, 1e-9);
}

TEST(Replay, LetsNoQuickDeviceWaitForASlowOnesResults) {
    ReplayPlan plan = plan_of(2, {.items = 10, .compute = 100ms});
    plan.devices[1][0].compute = 300ms;
    plan.gather = 1e-6;

    EXPECT_NEAR(replay(plan), 100 / (1 / 0.1 + 1 / 0.3), 0.5);
}

TEST(Replay, IsBoundByWhatAllDevicesShare) {
    for (double ReplayPlan::*shared :
         {&ReplayPlan::read, &ReplayPlan::write, &ReplayPlan::scatter, &ReplayPlan::gather}) {
        ReplayPlan plan = plan_of(4, {.items = 10, .compute = 100ms});
        plan.*shared = 0.01;

        EXPECT_NEAR(replay(plan), 100 * 0.1 + 0.1, 0.01);
    }
}

TEST(Replay, LetsDriversCopySideBySideAndSendsToTheOthers) {
    const ChunkDurations copied{.items = 10, .copy = 100ms, .compute = 1ms};
    const ChunkDurations sent{.items = 10, .compute = 1ms};

    EXPECT_NEAR(replay(plan_of(1, copied)), 100 * 0.1, 0.01);
    EXPECT_NEAR(replay(plan_of(4, copied)), 25 * 0.1, 0.3) << "the first chunks go to few devices";

    ReplayPlan plan = plan_of(2, copied);
    plan.scatter = 0.01;
    EXPECT_NEAR(replay(plan), 50 * 0.1, 0.01) << "nobody is sent to";
    plan.devices[1] = {sent};
    EXPECT_NEAR(replay(plan), 50 * 0.1, 0.1) << "copies and messages go on at once";
}

TEST(Replay, LetsSeveralReadersShareTheWork) {
    ReplayPlan plan = plan_of(4, {.items = 10, .compute = 1ms});
    plan.read = 0.01;
    plan.readers = 4;

    EXPECT_NEAR(replay(plan), 25 * 0.1, 0.01);
}

TEST(Replay, WaitsForRoomWhereLittleIsReadAhead) {
    ReplayPlan plan = plan_of(1, {.items = 10, .compute = 100ms});
    plan.read = 0.01;
    plan.depth = 1;
    plan.staged = 1;

    EXPECT_NEAR(replay(plan), 100 * 0.1 + 0.1, 1e-9) << "the next chunk is read while this one is computed";
}

TEST(Replay, GoesOnAtTheSameRateForAVeryLongRun) {
    ReplayPlan plan = plan_of(1, {.items = 10, .compute = 1ms});
    plan.items = 10'000'000;

    EXPECT_NEAR(replay(plan), 1000, 1);
}

TEST(Replay, CountsAShortLastChunkByItsItems) {
    ReplayPlan plan = plan_of(1, {.items = 10, .compute = 100ms});
    plan.items = 5;
    EXPECT_NEAR(replay(plan), 0.05, 1e-9);
    plan.items = 0;
    EXPECT_EQ(replay(plan), 0);

    plan.devices.clear();
    EXPECT_THROW((void)replay(plan), ContractViolation);
}

}  // namespace
}  // namespace sluice

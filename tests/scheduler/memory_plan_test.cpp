#include "scheduler/memory_plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

TEST(MemoryPlan, CountsEverySlotsFourBuffersAndRankZerosOwn) {
    const MemoryPlan plan = plan_memory(
        {.shape = {1014, 20}, .chunk_items = 32, .depth = 3, .devices = 2, .staged_chunks = 8, .window_chunks = 16});

    EXPECT_EQ(plan.pinned, 3U * 2 * 32 * 1034);
    EXPECT_EQ(plan.device, plan.pinned);
    EXPECT_EQ(plan.staging, 8U * 32 * 1014);
    EXPECT_EQ(plan.window, 16U * 32 * 20);
}

TEST(MemoryPlan, CountsAHostDevicesBuffersAsHostMemory) {
    const MemoryPlan plan{.pinned = 1, .device = 20, .work = 50'000, .staging = 300, .window = 4000};

    EXPECT_EQ(plan.host_total(DeviceKind::host), 54321U);
    EXPECT_EQ(plan.host_total(DeviceKind::cuda), 4301U);
}

TEST(MemoryPlan, CountsAModelsWorkSpaceOnEachDevice) {
    EXPECT_EQ(plan_memory({.shape = {10, 4}, .devices = 3, .work_bytes = 1000}).work, 3000U);
}

TEST(MemoryPlan, IsAcceptedUpToTheLastByte) {
    const MemoryPlan plan{.pinned = 1000, .device = 2000};

    check_memory(plan, DeviceKind::host, 3000);
    check_memory(plan, DeviceKind::cuda, 1000);
    EXPECT_THROW(check_memory(plan, DeviceKind::host, 2999), Error);
    EXPECT_THROW(check_memory(plan, DeviceKind::cuda, 999), Error);
}

TEST(MemoryPlan, SaysWhatItNeedsAndWhatThereIs) {
    const Error error =
        test::error_of([&] { check_memory({.staging = 44'238'713'651}, DeviceKind::host, std::uint64_t{768} << 20U); });

    EXPECT_EQ(error.code(), ExitCode::out_of_memory);
    EXPECT_EQ(error.text().id, "E-MEM-068");
    EXPECT_EQ(error.text().what, "this process needs 41.2 GiB, its share of the node's limit is 768.0 MiB");
}

TEST(MemoryPlan, NeedsNoReadAheadOnRanksWithoutReaders) {
    const MemoryPlan plan = plan_memory({.shape = {10, 4}, .chunk_items = 5});

    EXPECT_EQ(plan.staging, 0U);
    EXPECT_EQ(plan.window, 0U);
    EXPECT_EQ(plan.pinned, 70U);
}

TEST(MemoryPlan, RejectsAPlanBeyond64BitsInsteadOfWrapping) {
    const std::uint64_t huge = std::uint64_t{1} << 62;
    const MemoryNeeds product{.shape = {1014, 4}, .chunk_items = huge};
    const MemoryNeeds sum{.shape = {1, 0}, .chunk_items = huge, .depth = 2};
    const MemoryNeeds slots{.shape = {1, 0}, .depth = huge, .devices = 4};
    const MemoryNeeds work{.devices = 4, .work_bytes = huge};

    for (const MemoryNeeds& needs : {product, sum, slots, work}) {
        const Error error = test::error_of([&] { return plan_memory(needs); });

        EXPECT_EQ(error.code(), ExitCode::out_of_memory);
        EXPECT_EQ(error.text().id, "E-MEM-068");
    }
}

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;

TEST(ModelRoom, IsWhatTheOtherBuffersOfAHostLeave) {
    const MemoryNeeds needs{.shape = {600, 400}, .chunk_items = 10, .depth = 2, .devices = 4, .work_bytes = 5000};
    const std::uint64_t taken = plan_memory(needs).host_total(DeviceKind::host);

    EXPECT_EQ(room_on_host(needs, taken).device_bytes, 5000U);
    EXPECT_EQ(room_on_host(needs, taken + 4000).device_bytes, 6000U) << "an even share of what is left";
    EXPECT_EQ(room_on_host(needs, taken).most_items, 10U);
    EXPECT_THROW((void)room_on_host(needs, taken - 1), ContractViolation);
}

TEST(ModelRoom, IsWhatADeviceHasFreeLessSlotsWeightsAndReserve) {
    const MemoryNeeds needs{
        .shape = {600, 400}, .chunk_items = 1 << 20, .depth = 4, .devices = 2, .weight_bytes = gibibyte};

    const ModelRoom room = room_on_device(needs, {.free_bytes = 60 * gibibyte, .all_bytes = 64 * gibibyte}, 1, "gpu");

    EXPECT_EQ(room.device_bytes, (60 - 1 - 1) * gibibyte - gibibyte / 4 - 4000 * (std::uint64_t{1} << 20U));
    EXPECT_EQ(room.most_items, 1U << 20U);
}

TEST(ModelRoom, IsAnEvenShareOfADeviceThatRanksShare) {
    const MemoryNeeds needs{.shape = {1, 0}};
    const MemoryInfo untouched{.free_bytes = 64 * gibibyte, .all_bytes = 64 * gibibyte};
    const MemoryInfo half_taken{.free_bytes = 32 * gibibyte, .all_bytes = 64 * gibibyte};

    const std::uint64_t first = room_on_device(needs, untouched, 2, "gpu").device_bytes;

    EXPECT_EQ(room_on_device(needs, half_taken, 2, "gpu").device_bytes, first);
    EXPECT_LT(first, 32 * gibibyte);
    EXPECT_GT(first, 30 * gibibyte);
}

TEST(ModelRoom, SaysWhatAModelNeedsThatDoesNotFit) {
    const MemoryNeeds needs{
        .shape = {1 << 20, 0}, .chunk_items = 512, .depth = 4, .work_bytes = 12 * gibibyte, .weight_bytes = gibibyte};
    const Error error = test::error_of([&] {
        return room_on_device(needs, {.free_bytes = 8 * gibibyte, .all_bytes = 16 * gibibyte}, 1,
                              "NVIDIA H200 (17:00.0)");
    });

    EXPECT_EQ(error.code(), ExitCode::out_of_memory);
    EXPECT_EQ(error.text().id, "E-GPU-066");
    EXPECT_EQ(error.text().where, "NVIDIA H200 (17:00.0)");
    EXPECT_EQ(error.text().what,
              "the model needs 12.0 GiB for chunks of 512 items, but 4.5 GiB are left of 8.0 GiB: the weights take "
              "1.0 GiB, 4 slots 2.0 GiB");
}

TEST(ModelRoom, IsNeverLessThanNothing) {
    const MemoryNeeds needs{.shape = {1, 0}, .weight_bytes = gibibyte};

    EXPECT_EQ(room_on_device(needs, {.free_bytes = 1, .all_bytes = gibibyte}, 1, "gpu").device_bytes, 0U);
}

}  // namespace
}  // namespace sluice

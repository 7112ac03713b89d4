#include "scheduler/reading.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t memory_each = std::uint64_t{256} << 20U;

TEST(QueueSizes, HoldAChunkForEverySlotAndAWideWindowWhenMemoryAllows) {
    const QueueSizes sizes = choose_queue_sizes({.input_bytes = 1014, .output_bytes = 4}, 64, 12, 100'000);

    EXPECT_EQ(sizes.staged, 12U);
    EXPECT_GE(sizes.window, 12U * 8U);
}

TEST(QueueSizes, AreNeverLargerThanTheJob) {
    const QueueSizes sizes = choose_queue_sizes({.input_bytes = 10, .output_bytes = 10}, 8, 64, 3);

    EXPECT_EQ(sizes.staged, 3U);
    EXPECT_EQ(sizes.window, 3U);
}

TEST(QueueSizes, AreAtLeastOneChunkForAnEmptyJob) {
    const QueueSizes sizes = choose_queue_sizes({.input_bytes = 10, .output_bytes = 10}, 8, 64, 0);

    EXPECT_EQ(sizes.staged, 1U);
    EXPECT_EQ(sizes.window, 1U);
}

TEST(QueueSizes, AllowTwoChunksHoweverLargeTheyAre) {
    const QueueSizes sizes =
        choose_queue_sizes({.input_bytes = UINT32_MAX, .output_bytes = UINT32_MAX}, UINT32_MAX, 8, 1000);

    EXPECT_EQ(sizes.staged, 2U);
    EXPECT_EQ(sizes.window, 2U);
}

TEST(QueueSizes, StayWithinTheirBoundsForAnyShape) {
    for (const std::uint32_t bytes : {0U, 1U, 4U, 1014U, 1U << 20U, UINT32_MAX}) {
        for (const std::uint32_t items : {1U, 64U, 100'000U, UINT32_MAX}) {
            for (const std::uint64_t slots :
                 {std::uint64_t{1}, std::uint64_t{30}, std::uint64_t{1} << 40U, UINT64_MAX}) {
                for (const std::uint64_t chunks : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, UINT64_MAX}) {
                    const QueueSizes sizes = choose_queue_sizes({bytes, bytes}, items, slots, chunks);

                    const std::uint64_t each = std::uint64_t{bytes} * items;
                    for (const std::uint64_t size : {sizes.staged, sizes.window}) {
                        EXPECT_GE(size, 1U);
                        EXPECT_LE(size, std::max<std::uint64_t>(chunks, 1));
                        EXPECT_TRUE(size <= 2 || each == 0 || size <= memory_each / each);
                    }
                }
            }
        }
    }
}

constexpr ReadingNeeds articles{.cores = 16,
                                .device = DeviceKind::cuda,
                                .devices = 1,
                                .flop_per_item = 0.488e9,
                                .file_bytes = 240,
                                .packed_bytes = 1014};

ReadingNeeds with(ReadingNeeds needs, DeviceKind device, std::uint32_t cores, std::uint32_t devices) {
    needs.device = device;
    needs.cores = cores;
    needs.devices = devices;
    return needs;
}

ReadingNeeds one_hot(ReadingNeeds needs) {
    needs.file_bytes = 283'920;
    return needs;
}

TEST(Readers, AreOneACoreForFp32InputBesideGpus) {
    for (const std::uint32_t cores : {1U, 2U, 16U, 64U, 256U}) {
        EXPECT_EQ(choose_readers(one_hot(with(articles, DeviceKind::cuda, cores, 1))), cores);
    }
}

TEST(Readers, AreEnoughForTextBesideGpusAndLeaveCoresFree) {
    const std::uint32_t one_gpu = choose_readers(with(articles, DeviceKind::cuda, 16, 1));
    const std::uint32_t four_gpus = choose_readers(with(articles, DeviceKind::cuda, 64, 4));

    EXPECT_GE(one_gpu, 4U);
    EXPECT_LE(one_gpu, 8U);
    EXPECT_GE(four_gpus, 4 * one_gpu - 4);
    EXPECT_LE(four_gpus, 4 * one_gpu);
}

TEST(Readers, AreFourAGpuForWhatNeedsNoneByItsBytes) {
    constexpr ReadingNeeds prompts{.cores = 64, .device = DeviceKind::cuda, .devices = 4, .flop_per_item = 20e9};
    EXPECT_EQ(choose_readers(prompts), 16U);
    EXPECT_EQ(choose_readers(with(prompts, DeviceKind::cuda, 64, 1)), 4U);
    EXPECT_EQ(choose_readers(with(prompts, DeviceKind::cuda, 16, 4)), 8U) << "the other cores are comm's and drivers'";
    EXPECT_EQ(choose_readers(with(prompts, DeviceKind::cuda, 3, 1)), 2U);
    EXPECT_EQ(choose_readers(with(prompts, DeviceKind::cuda, 1, 1)), 1U) << "one a core";
    EXPECT_EQ(choose_readers(with(prompts, DeviceKind::cuda, 64, 400)), 32U);
    EXPECT_EQ(choose_readers(with(prompts, DeviceKind::host, 64, 64)), 2U);
}

TEST(Readers, LeaveEverySecondCoreToHostDevices) {
    for (const std::uint32_t cores : {1U, 2U, 3U, 16U, 64U}) {
        const std::uint32_t readers = choose_readers(one_hot(with(articles, DeviceKind::host, cores, cores)));
        EXPECT_GE(readers, 1U);
        EXPECT_LE(readers, std::max(1U, cores / 2));
    }
    EXPECT_EQ(choose_readers(with(articles, DeviceKind::host, 64, 64)), 2U) << "models on cores are slow";
}

TEST(Readers, BecomeNoFewerWithMoreCoresDevicesOrBytes) {
    for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
        for (std::uint32_t cores = 1; cores < 70; ++cores) {
            for (std::uint32_t devices = 1; devices < 20; ++devices) {
                const ReadingNeeds needs = with(articles, device, cores, devices);
                ReadingNeeds larger = needs;
                larger.file_bytes *= 2;
                const std::uint32_t readers = choose_readers(needs);
                ASSERT_GE(choose_readers(with(needs, device, cores + 1, devices)), readers);
                ASSERT_GE(choose_readers(with(needs, device, cores, devices + 1)), readers);
                ASSERT_GE(choose_readers(larger), readers);
            }
        }
    }
}

TEST(Readers, StayWithinTheCoresForAnyItem) {
    for (const double flop : {std::numeric_limits<double>::denorm_min(), 1.0, 1e300}) {
        for (const double bytes : {0.0, 1.0, 1e300}) {
            for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
                ReadingNeeds needs = with(articles, device, 16, std::numeric_limits<std::uint32_t>::max());
                needs.flop_per_item = flop;
                needs.file_bytes = bytes;
                needs.packed_bytes = 0;
                const std::uint32_t readers = choose_readers(needs);
                EXPECT_GE(readers, 2U);
                EXPECT_LE(readers, 16U);
            }
        }
    }
}

TEST(Readers, RefuseADeviceNotYetChosenAndNeedsThatAreNoNumbers) {
    EXPECT_THROW((void)choose_readers(with(articles, DeviceKind::automatic, 1, 1)), ContractViolation);
    ReadingNeeds needs = articles;
    needs.flop_per_item = 0;
    EXPECT_THROW((void)choose_readers(needs), ContractViolation);
    needs = articles;
    needs.file_bytes = std::nan("");
    EXPECT_THROW((void)choose_readers(needs), ContractViolation);
    needs.file_bytes = -2000;
    EXPECT_THROW((void)choose_readers(needs), ContractViolation);
}

}  // namespace
}  // namespace sluice

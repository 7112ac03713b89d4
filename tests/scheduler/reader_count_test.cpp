#include "scheduler/reader_count.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace sluice {
namespace {

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

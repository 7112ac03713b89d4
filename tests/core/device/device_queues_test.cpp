#include "core/device/device_queues.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {
namespace {

using namespace std::chrono_literals;

/// Of a device that has returned many chunks, each in `time` seconds.
DeviceQueue known(double time, std::uint32_t held) {
    return {.held = held, .returned = 10, .first = time, .later = time};
}

DeviceQueue unknown(std::uint32_t held) {
    return {.held = held};
}

/// Of a device that has returned one chunk.
DeviceQueue begun(double time, std::uint32_t held) {
    return {.held = held, .returned = 1, .first = time};
}

struct Case {
    std::string what;
    std::vector<DeviceQueue> queues;  ///< The first device asks.
    std::uint64_t left = 1;
    bool waits = false;
    std::uint32_t lag = 0;
};

bool waits(const std::vector<DeviceQueue>& queues, std::size_t device, std::uint64_t left, std::uint32_t lag = 0) {
    DeviceSums all{.devices = queues.size()};
    for (const DeviceQueue& queue : queues) {
        all.add(queue);
    }
    return has_to_wait(queues[device], all, left, lag);
}

TEST(DeviceQueues, LetADeviceWaitWhereOthersFinishAllEarlier) {
    for (const Case& of : std::vector<Case>{
             {"alone", {known(1, 2)}, 1, false},
             {"even devices, as much to do", {known(1, 2), known(1, 2)}, 1, false},
             {"even devices, the other has less to do", {known(1, 2), known(1, 1)}, 1, true},
             {"even devices, the other has less to do, but not for all", {known(1, 2), known(1, 1)}, 2, false},
             {"even devices, both idle", {known(1, 0), known(1, 0)}, 1, false},
             {"idle, and the other is faster, but would not be done with two", {known(1, 0), known(0.75, 0)}, 1, false},
             {"idle, and the other is twice as fast", {known(1, 0), known(0.5, 0)}, 1, true},
             {"idle, and the other is twice as fast, but has one", {known(1, 0), known(0.5, 1)}, 1, false},
             {"eight times slower: the other does seven more meanwhile", {known(8, 0), known(1, 0)}, 7, true},
             {"eight times slower, and one more is left", {known(8, 0), known(1, 0)}, 8, false},
             {"what the other holds comes first", {known(8, 0), known(1, 3)}, 5, false},
             {"what the other holds comes first, and is enough", {known(8, 0), known(1, 3)}, 4, true},
             {"one ahead takes twice as long", {known(8, 1), known(1, 0)}, 15, true},
             {"several others", {known(8, 0), known(1, 0), known(2, 0)}, 10, true},
             {"several others, and one more is left", {known(8, 0), known(1, 0), known(2, 0)}, 11, false},
             {"fifty even devices", std::vector(50, known(1, 1)), 1, false},
             {"faster than all others", {known(1, 3), known(8, 0), known(16, 0)}, 1, false},
             {"idle, others that have returned none", {known(8, 0), unknown(0), unknown(1)}, 1, false},
             {"others that took no time", {known(8, 2), known(0, 0)}, 1, false},
             {"itself took no time", {known(0, 2), known(1, 0)}, 1, false},
             {"unknown and idle", {unknown(0), known(1, 0)}, 1, false},
             {"unknown, has one", {unknown(1), unknown(0)}, 63, false},
             {"unknown, has one, fewer are left than devices", {unknown(1), unknown(0)}, 1, true},
             {"unknown, has two", {unknown(2), unknown(0)}, 63, true},
             {"unknown, has two, many are left", {unknown(2), unknown(0)}, 64, false},
             {"has two, and another one is unknown", {known(1, 2), unknown(0)}, 63, true},
             {"has one, and another one is unknown", {known(1, 1), unknown(0)}, 63, false},
             {"unknown, has two, alone", {unknown(2)}, 1, false},
             {"unknown, has two that come back with the next", {unknown(2), unknown(0)}, 8, false, 1},
             {"unknown, has one more than it needs to return one", {unknown(3), unknown(0)}, 8, true, 1},
             {"one chunk against one", {begun(8, 0), begun(1, 0)}, 7, true},
             {"a first chunk, in which it warmed up as the other did",
              {begun(8, 0), {.held = 0, .returned = 5, .first = 8, .later = 1}},
              1,
              false},
             {"a first chunk, slower than the other's",
              {begun(32, 0), {.held = 0, .returned = 5, .first = 8, .later = 1}},
              3,
              true},
             {"the end is not known yet", {known(8, 0), known(1, 0)}, std::uint64_t{1} << 40U, false},
         }) {
        EXPECT_EQ(waits(of.queues, 0, of.left, of.lag), of.waits) << of.what;
    }
}

TEST(DeviceQueues, NeverLetTheDeviceWaitThatIsTheNextToFinish) {
    const std::vector<DeviceQueue> some{known(1, 0),   known(1, 3),   known(1.1, 1), known(3, 0),
                                        known(0.2, 7), begun(0.7, 1), unknown(0),    known(0, 2)};
    for (const DeviceQueue& first : some) {
        for (const DeviceQueue& second : some) {
            for (const DeviceQueue& third : some) {
                const std::vector<DeviceQueue> queues{first, second, third};

                const bool one_works = !waits(queues, 0, 1) || !waits(queues, 1, 1) || !waits(queues, 2, 1);

                EXPECT_TRUE(one_works) << first.later << " " << second.later << " " << third.later;
            }
        }
    }
}

TEST(DeviceQueues, ForgetWhatIsSubtracted) {
    DeviceSums all{.devices = 2};
    all.add(known(2, 3));
    all.add(begun(8, 1));
    all.subtract(begun(8, 1));
    all.subtract(known(2, 3));

    EXPECT_EQ(all.known, 0U);
    EXPECT_EQ(all.held, 0U);
    EXPECT_EQ(all.first_rate, 0);
    EXPECT_EQ(all.later_rate, 0);
    EXPECT_EQ(all.first_seconds, 0);
    EXPECT_EQ(all.later_seconds, 0);
}

TEST(DeviceQueues, MeasureChunksFromTheOneBeforeOrTheirGrant) {
    DeviceQueues queues(2, 8, 0);
    for (const std::uint64_t chunk : {0U, 1U}) {
        queues.granted(chunk, 0, 0s);
    }
    queues.granted(2, 1, 0s);
    queues.returned(0, 5s);
    queues.returned(1, 6s);
    queues.returned(2, 5s);
    queues.granted(3, 1, 100s);
    queues.returned(3, 102s);
    queues.granted(10, 0, 200s);  // in chunk 2's place
    queues.granted(11, 1, 200s);

    // A second a chunk against two: the first device finishes three in the time of the second one's next two.
    EXPECT_TRUE(queues.has_to_wait(1, 2));
    EXPECT_FALSE(queues.has_to_wait(1, 3));
    EXPECT_FALSE(queues.has_to_wait(0, 1));
}

TEST(DeviceQueues, ForgetHowLongChunksTookLongAgo) {
    DeviceQueues queues(2, 4, 0);
    auto now = 0s;
    const auto pass = [&](std::uint32_t device, std::chrono::seconds time) {
        queues.granted(0, device, now);
        now += time;
        queues.returned(0, now);
    };
    for (int i = 0; i < 4; ++i) {
        pass(0, 100s);
        pass(1, 10s);
    }
    EXPECT_TRUE(queues.has_to_wait(0, 8));

    for (int i = 0; i < 80; ++i) {
        pass(0, 10s);
    }

    EXPECT_FALSE(queues.has_to_wait(0, 8));
    EXPECT_FALSE(queues.has_to_wait(0, 2)) << "a hundredth of a chunk is left of it";
}

TEST(DeviceQueues, KeepOneDeviceAtWorkAfterChunksThatTookNoTime) {
    for (const int many : {1, 10, 100, 1000, 5000}) {
        DeviceQueues queues(3, 4, 0);
        auto now = 0ms;
        const auto pass = [&](std::uint32_t device, std::chrono::milliseconds time) {
            queues.granted(0, device, now);
            now += time;
            queues.returned(0, now);
        };
        for (const auto time : {7ms, 3ms}) {
            for (const std::uint32_t device : {0U, 1U, 2U}) {
                pass(device, time);
            }
        }
        for (int i = 0; i < many; ++i) {
            pass(0, 0ms);
            pass(1, 0ms);
        }
        for (int i = 0; i < 100; ++i) {
            const auto next = static_cast<std::uint32_t>(i % 3);
            pass(next, std::chrono::milliseconds(1 + i % 5));

            EXPECT_FALSE(queues.has_to_wait(0, 1) && queues.has_to_wait(1, 1) && queues.has_to_wait(2, 1))
                << many << " chunks, and " << i << " later";
        }
    }
}

}  // namespace
}  // namespace sluice

#include "comm/device_queues.hpp"

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

TEST(DeviceQueues, LetADeviceWaitWhereOthersFinishAllEarlier) {
    for (const Case& of : std::vector<Case>{
             {"alone", {known(1, 2)}, 1, false},
             {"even devices, as much to do", {known(1, 2), known(1, 2)}, 1, false},
             {"even devices, the other has less to do", {known(1, 2), known(1, 1)}, 1, true},
             {"even devices, the other has less to do, but not for all", {known(1, 2), known(1, 1)}, 2, false},
             {"even devices, both idle", {known(1, 0), known(1, 0)}, 1, false},
             {"idle, and the other is faster and idle", {known(1, 0), known(0.9, 0)}, 1, true},
             {"idle, and the other is faster, but has one", {known(1, 0), known(0.9, 1)}, 1, false},
             {"ten times slower: the other does nine meanwhile", {known(10, 0), known(1, 0)}, 9, true},
             {"ten times slower, and one more is left", {known(10, 0), known(1, 0)}, 10, false},
             {"what the other holds comes first", {known(10, 0), known(1, 3)}, 7, false},
             {"what the other holds comes first, and is enough", {known(10, 0), known(1, 3)}, 6, true},
             {"one ahead takes twice as long", {known(10, 1), known(1, 0)}, 19, true},
             {"several others", {known(10, 0), known(1, 0), known(2, 0), known(20, 0)}, 13, true},
             {"several others, and one more is left", {known(10, 0), known(1, 0), known(2, 0)}, 14, false},
             {"faster than all others", {known(1, 3), known(10, 0), known(20, 0)}, 1, false},
             {"others of which nothing is known, as much to do", {known(10, 1), unknown(1), unknown(1)}, 1, false},
             {"others of which nothing is known, less to do", {known(10, 2), unknown(1), unknown(0)}, 3, true},
             {"idle, and nothing is known of idle others", {known(10, 0), unknown(0), unknown(0)}, 1, false},
             {"others that took no time", {known(10, 2), known(0, 0)}, 1, false},
             {"unknown and idle", {unknown(0), known(1, 0)}, 1, false},
             {"unknown, has one", {unknown(1), unknown(0)}, 63, true},
             {"unknown, has one, many are left", {unknown(1), unknown(0)}, 64, false},
             {"unknown, has one, alone", {unknown(1)}, 1, false},
             {"unknown, has one that comes back with the next", {unknown(1), unknown(0)}, 8, false, 1},
             {"unknown, has all that it needs to return one", {unknown(2), unknown(0)}, 8, true, 1},
             {"one chunk against one", {begun(10, 0), begun(1, 0)}, 9, true},
             {"a first chunk, in which it warmed up as the other did",
              {begun(10, 0), {.held = 0, .returned = 5, .first = 10, .later = 1}},
              1,
              false},
             {"a first chunk, slower than the other's",
              {begun(40, 0), {.held = 0, .returned = 5, .first = 10, .later = 1}},
              3,
              true},
             {"the end is not known yet", {known(10, 0), known(1, 0)}, std::uint64_t{1} << 40U, false},
         }) {
        EXPECT_EQ(has_to_wait(of.queues, 0, of.left, of.lag), of.waits) << of.what;
    }
}

TEST(DeviceQueues, LetNeverAllDevicesWaitWhereNoneHoldsAChunk) {
    constexpr double nothing = -1;
    const auto idle = [](double time) { return time < 0 ? unknown(0) : known(time, 0); };
    for (const double first : {nothing, 0.0, 1.0, 1.1, 3.0}) {
        for (const double second : {nothing, 0.0, 1.0, 1.1, 3.0}) {
            for (const double third : {nothing, 0.0, 1.0, 1.1, 3.0}) {
                const std::vector<DeviceQueue> queues{idle(first), idle(second), idle(third)};

                const bool one_works =
                    !has_to_wait(queues, 0, 1, 0) || !has_to_wait(queues, 1, 1, 0) || !has_to_wait(queues, 2, 1, 0);

                EXPECT_TRUE(one_works) << first << ", " << second << ", " << third;
            }
        }
    }
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

}  // namespace
}  // namespace sluice

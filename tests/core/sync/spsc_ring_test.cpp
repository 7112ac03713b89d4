#include "core/sync/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/sync/spin.hpp"

namespace sluice {
namespace {

TEST(SpscRing, IsEmptyAtFirst) {
    SpscRing<int> ring(4);
    int value = 0;

    EXPECT_FALSE(ring.try_pop(value));
}

TEST(SpscRing, TakesAtLeastItsCapacityAndThenRefuses) {
    for (const std::size_t capacity : {0U, 1U, 2U, 3U, 5U, 8U}) {
        SpscRing<std::size_t> ring(capacity);

        std::size_t taken = 0;
        while (taken < 100 && ring.try_push(taken)) {
            ++taken;
        }

        EXPECT_GE(taken, std::max<std::size_t>(capacity, 1));
        EXPECT_LT(taken, 100U);
    }
}

TEST(SpscRing, HasRoomAgainAfterAPop) {
    SpscRing<int> ring(1);
    int value = 0;
    ASSERT_TRUE(ring.try_push(1));
    ASSERT_FALSE(ring.try_push(2));

    ASSERT_TRUE(ring.try_pop(value));

    EXPECT_TRUE(ring.try_push(2));
}

TEST(SpscRing, KeepsTheOrderAroundItsEnd) {
    SpscRing<int> ring(4);
    int next_in = 0;
    int next_out = 0;

    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 1 + round % 4; ++i) {
            ASSERT_TRUE(ring.try_push(next_in++));
        }
        for (int value = 0; ring.try_pop(value);) {
            ASSERT_EQ(value, next_out++);
        }
    }

    EXPECT_EQ(next_out, next_in);
}

/// For the other side: at first on its core, if it has one, and then asleep, which costs no time slice of others.
void wait_a_little() {
    static_cast<void>(spin_until([] { return false; }));
    std::this_thread::sleep_for(std::chrono::microseconds(1));
}

TEST(SpscRing, HandsEveryValueOverOnceAndInOrderBetweenTwoThreads) {
    constexpr std::uint64_t values = 20'000;
    SpscRing<std::uint64_t> ring(8);

    std::thread producer([&] {
        for (std::uint64_t i = 0; i < values;) {
            if (ring.try_push(i)) {
                ++i;
            } else {
                wait_a_little();
            }
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t expected = 0; expected < values;) {
        std::uint64_t value = 0;
        if (ring.try_pop(value)) {
            wrong += value != expected++ ? 1U : 0U;
        } else {
            wait_a_little();
        }
    }
    producer.join();

    EXPECT_EQ(wrong, 0U);
    std::uint64_t rest = 0;
    EXPECT_FALSE(ring.try_pop(rest));
}

}  // namespace
}  // namespace sluice

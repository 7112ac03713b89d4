#include "core/sync/doorbell.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace sluice {
namespace {

/// Sleeps until `value` is at least `least`; a lost wake-up shows as a test that never ends.
void wait_until_at_least(Doorbell& bell, const std::atomic<std::uint64_t>& value, std::uint64_t least) {
    for (;;) {
        const std::uint32_t seen = bell.listen();
        if (value.load() >= least) {
            return;
        }
        bell.wait(seen);
    }
}

TEST(Doorbell, DoesNotSleepWhenItWasRungSinceTheListenerLooked) {
    Doorbell bell;
    const std::uint32_t seen = bell.listen();

    bell.ring();

    bell.wait(seen);  // returns
    EXPECT_NE(bell.listen(), seen);
}

TEST(Doorbell, SleepsNoLongerThanAsked) {
    Doorbell bell;

    const auto begin = std::chrono::steady_clock::now();
    bell.wait_for(bell.listen(), std::chrono::milliseconds(1));
    bell.wait_for(bell.listen(), std::chrono::nanoseconds(0));

    EXPECT_GT(std::chrono::steady_clock::now(), begin);
}

TEST(Doorbell, NeverLosesAWakeUpBetweenTwoThreads) {
    constexpr std::uint64_t rounds = 100'000;
    Doorbell ping;
    Doorbell pong;
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> answered{0};

    std::thread other([&] {
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            wait_until_at_least(ping, sent, i);
            answered.store(i);
            pong.ring();
        }
    });
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        sent.store(i);
        ping.ring();
        wait_until_at_least(pong, answered, i);
    }
    other.join();

    EXPECT_EQ(answered.load(), rounds);
}

TEST(Doorbell, NeverLosesAWakeUpAmongManyRingersAndSleepers) {
    constexpr std::uint64_t rounds = 20'000;
    constexpr std::size_t ringers = 3;
    Doorbell bell;
    Doorbell room;
    std::array<std::atomic<std::uint64_t>, ringers> values{};
    std::array<std::atomic<std::uint64_t>, 2> taken{};

    std::vector<std::thread> threads;
    for (auto& value : values) {
        threads.emplace_back([&] {
            for (std::uint64_t i = 1; i <= rounds; ++i) {
                value.store(i);
                bell.ring();
                if (i % 2 == 0) {  // everyone sleeps now and then, so that a ring finds sleepers
                    wait_until_at_least(room, taken[0], i);
                    wait_until_at_least(room, taken[1], i);
                }
            }
        });
    }
    for (auto& mine : taken) {
        threads.emplace_back([&] {
            for (std::uint64_t i = 1; i <= rounds; ++i) {
                for (const auto& value : values) {
                    wait_until_at_least(bell, value, i);
                }
                mine.store(i);
                room.ring();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(taken[0].load(), rounds);
    EXPECT_EQ(taken[1].load(), rounds);
}

}  // namespace
}  // namespace sluice

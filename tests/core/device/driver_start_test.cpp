#include "core/device/driver_start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "core/sync/turn.hpp"

namespace sluice {
namespace {

constexpr std::chrono::hours very_long{1};

class DriverStartInTurn : public testing::Test {
protected:
    DriverTurn turn() {
        return {.wait =
                    [this](const std::stop_token& stop) {
                        turn_.wait(stop, very_long);
                        came_ = true;
                    },
                .pass_on = [this] { passed_on_ = true; }};
    }

    Turn turn_;
    std::atomic<bool> came_{false};
    std::atomic<bool> passed_on_{false};
};

TEST_F(DriverStartInTurn, WaitsAndPassesItOn) {
    auto start = std::make_unique<DriverStart>(std::vector<std::uint32_t>{}, turn());
    EXPECT_FALSE(came_);

    turn_.give();
    start->wait_for_turn();
    start->wait_for(0);
    EXPECT_TRUE(came_);

    start.reset();
    EXPECT_TRUE(passed_on_) << "even without a GPU";
}

TEST_F(DriverStartInTurn, PassesItOnWhenItEndsBefore) {
    auto start = std::make_unique<DriverStart>(std::vector<std::uint32_t>{}, turn());

    start.reset();

    EXPECT_TRUE(passed_on_);
}

TEST(DriverStart, HasItsTurnAtOnceWhereThereAreNone) {
    DriverStart().wait_for_turn();
}

TEST(DriverStart, KeepsNobodyWaitingForAGpuThatIsNotThere) {
    const DriverStart start({4000});

    start.wait_for(0);
    start.wait_for(4000);

    EXPECT_EQ(start.took(), std::nullopt);
}

}  // namespace
}  // namespace sluice

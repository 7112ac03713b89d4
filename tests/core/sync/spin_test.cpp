#include "core/sync/spin.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(YieldPatience, YieldsWhileThatIsShort) {
    YieldPatience patience;

    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(patience.next());
        patience.lasted(YieldPatience::longest);
    }
}

TEST(YieldPatience, LeavesYieldsOutAfterOneThatLasted) {
    YieldPatience patience;
    ASSERT_TRUE(patience.next());

    for (int round = 0; round < 2; ++round) {
        patience.lasted(YieldPatience::longest + std::chrono::nanoseconds(1));
        std::uint32_t left_out = 0;
        while (!patience.next()) {
            ++left_out;
        }
        EXPECT_EQ(left_out, YieldPatience::left_out);
    }
}

TEST(SpinUntil, EndsWithTheConditionOrWithoutIt) {
    int looks = 0;
    EXPECT_TRUE(spin_until([&] { return ++looks == 3; }));
    EXPECT_EQ(looks, 3);

    EXPECT_TRUE(spin_until([&] { return ++looks > 68; })) << "between yields";
    EXPECT_FALSE(spin_until([] { return false; }));
}

}  // namespace
}  // namespace sluice

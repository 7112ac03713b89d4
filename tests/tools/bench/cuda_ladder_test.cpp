#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/device/cuda.hpp"
#include "tools/bench/ladder/cuda/plain.hpp"
#include "tools/bench/ladder/ladder.hpp"

namespace sluice::ladder {
namespace {

const Report no_report = [](const RungResult&) {};

class CudaLadder : public testing::Test {
protected:
    void SetUp() override {
        std::string why;
        if (!has_cuda_ladder(why)) {
            GTEST_SKIP() << "no GPU: " << why;
        }
    }
};

TEST_F(CudaLadder, DrawsNoOperandThatIsZero) {
    constexpr std::uint32_t seed_of_largest = 12;  // among these draws is one whose first 24 bits are all ones
    constexpr std::size_t count = std::size_t{1} << 20U;
    const auto device = make_cuda_device(0);
    Buffer values = device->allocate(MemorySpace::pinned, count * sizeof(float));

    fill_normal(values.bytes().data(), count, Precision::fp32, 1, seed_of_largest);

    EXPECT_EQ(std::ranges::count(values.as<float>(), 0.0F), 0);
}

TEST_F(CudaLadder, ComputesEveryRungRight) {
    for (const std::uint32_t k : {64U, 448U}) {
        const LadderResult result = climb_cuda({.m = 768, .n = 512, .k = k, .seconds = 0}, no_report);

        EXPECT_GE(result.rungs.size(), cuda_rung_numbers().size());
        for (const RungResult& rung : result.rungs) {
            EXPECT_TRUE(!rung.skipped.empty() || rung.right()) << rung.number << " " << rung.name << ": " << rung.error;
            EXPECT_EQ(rung.error_with_rounding.has_value(), rung.number == 20 && rung.skipped.empty());
            EXPECT_LT(rung.error_with_rounding.value_or(0), 0.05);  // 2^-4 at most for each value of two
            const bool has_ways = rung.number == 11 || rung.number >= 18;
            EXPECT_EQ(rung.path.empty(), !has_ways || !rung.skipped.empty()) << rung.number << ": " << rung.path;
        }
    }
}

TEST_F(CudaLadder, ComputesOddSizesOnTheRungsThatTakeThemAndSaysWhyOnTheOthers) {
    const LadderResult result =
        climb_cuda({.rungs = {1, 2, 3, 8, 11, 17, 18, 19}, .m = 33, .n = 40, .k = 72, .seconds = 0}, no_report);

    for (const RungResult& rung : result.rungs) {
        const bool any_size = rung.number <= 3 || rung.number == 11 || rung.number >= 18;
        EXPECT_TRUE(any_size || !rung.skipped.empty()) << rung.number;
        EXPECT_TRUE(!rung.skipped.empty() || rung.right()) << rung.number << ": " << rung.error;
    }
}

TEST_F(CudaLadder, ComputesSizesThatNothingDividesAndTellsThePath) {
    for (const auto& [m, n, k] : {std::array{1021U, 1U, 7U}, {1U, 1U, 1U}, {127U, 1021U, 129U}}) {
        const LadderResult result = climb_cuda({.m = m, .n = n, .k = k, .seconds = 0}, no_report);

        EXPECT_GE(result.rungs.size(), cuda_rung_numbers().size());
        for (const RungResult& rung : result.rungs) {
            SCOPED_TRACE(testing::Message() << rung.number << " at " << m << " x " << n << " x " << k);
            EXPECT_TRUE(!rung.skipped.empty() || rung.right()) << rung.error;
            if (rung.number == 11) {
                EXPECT_THAT(rung.path, testing::EndsWith("unaligned"));
            }
        }
    }
}

}  // namespace
}  // namespace sluice::ladder

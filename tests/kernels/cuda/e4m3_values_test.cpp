#include "kernels/cuda/primitives/e4m3_values.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "tests/kernels/cuda/e4m3.hpp"

namespace sluice {
namespace {

/// All magnitudes and signs; those between which codes change, and others.
TEST(E4m3Values, AreRoundedAsCudaDoes) {
    std::vector<float> values{0, -0.0F, std::numeric_limits<float>::infinity(), 464, -464, 1e30F};
    for (std::uint32_t code = 0; code < 0x7E; ++code) {
        const float value = test::value_of_e4m3(std::byte{static_cast<std::uint8_t>(code)});
        const float next = test::value_of_e4m3(std::byte{static_cast<std::uint8_t>(code + 1)});
        const float middle = (value + next) / 2;
        for (const float one : {value, std::nextafter(middle, 0.0F), middle, std::nextafter(middle, next)}) {
            values.push_back(one);
            values.push_back(-one);
        }
    }
    for (std::uint64_t bits = 0; bits < 0x7F800000; bits += 40'503) {
        values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    std::vector<std::byte> codes(values.size());

    encode_e4m3(values, 1, codes);

    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(codes[i], test::e4m3_of(values[i])) << values[i];
    }
}

TEST(E4m3Values, AreScaledBeforeAndStayNan) {
    const float values[] = {3, std::numeric_limits<float>::quiet_NaN(), 3e-8F};
    std::vector<std::byte> codes(std::size(values));

    encode_e4m3(values, 0x1p25F, codes);

    EXPECT_EQ(test::value_of_e4m3(codes[0]), 448);
    EXPECT_TRUE(std::isnan(test::value_of_e4m3(codes[1])));
    EXPECT_EQ(test::value_of_e4m3(codes[2]), 1);
    EXPECT_THROW(encode_e4m3(values, 1, std::span(codes).first(2)), ContractViolation);
}

TEST(E4m3Values, HaveTheGreatestScaleByWhichTheyFit) {
    EXPECT_EQ(e4m3_scale_for(448), 1);
    EXPECT_EQ(e4m3_scale_for(std::nextafter(448.0, 1e3)), 0.5F);
    EXPECT_EQ(e4m3_scale_for(224), 2);
    EXPECT_EQ(e4m3_scale_for(std::sqrt(768.0)), 16);
    EXPECT_EQ(e4m3_scale_for(1e9), 0x1p-22F);
    EXPECT_EQ(e4m3_scale_for(0), 0x1p64F);
    EXPECT_EQ(e4m3_scale_for(1e-30), 0x1p64F);
    EXPECT_THROW(static_cast<void>(e4m3_scale_for(-1)), ContractViolation);
    EXPECT_THROW(static_cast<void>(e4m3_scale_for(std::numeric_limits<double>::infinity())), ContractViolation);
}

}  // namespace
}  // namespace sluice

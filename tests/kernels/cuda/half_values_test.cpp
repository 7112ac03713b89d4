#include "kernels/cuda/primitives/half_values.hpp"

#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/input/half.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/cuda/half_codes.hpp"

namespace sluice {
namespace {

std::uint16_t bits_of(__half half) {
    return static_cast<__half_raw>(half).x;
}

TEST(HalfValues, AreThoseOfCuda) {
    constexpr std::uint64_t some = 1031;  // a prime: all exponents and signs, and ever other bits behind
    constexpr std::uint64_t all = std::uint64_t{1} << 32U;
    for (std::uint64_t bits = 0; bits < all; bits += some) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (std::abs(value) < 65'520) {
            ASSERT_EQ(half_of(value), bits_of(__float2half_rn(value))) << value;
        }
    }
    for (const float value : {0.0F, -0.0F, 0x1p-25F, 0x1.000002p-25F, 0x1p-14F, 0x1.FFEp-15F, 65'519.99F, -65'504.0F}) {
        EXPECT_EQ(half_of(value), bits_of(__float2half_rn(value))) << value;
    }
}

TEST(HalfValues, BecomeTheFloatsThatCudaMakesOfThem) {
    constexpr std::uint32_t halves = 1U << 16U;
    for (std::uint32_t bits = 0; bits < halves; ++bits) {
        const auto narrow = static_cast<std::uint16_t>(bits);
        const float got = float_of_half(narrow);
        const float expected = __half2float(__half_raw{narrow});
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(got)) << bits;
        } else {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << bits;
        }
    }
}

TEST(HalfParts, KeepNaN) {
    const std::vector<std::byte> poison(2 * sizeof(std::uint16_t), std::byte{0xFF});

    EXPECT_TRUE(std::isnan(decode_half_parts(poison, 1).front()));
}

TEST(HalfParts, KeepWhatFp32KeepsOfWeightsAndActivations) {
    for (const float deviation : {0.001F, 0.02F, 1.0F, 1000.0F}) {
        const std::vector<float> values = random_values(3 * 40, deviation, 1);

        const std::vector<std::byte> parts = encode_half_parts(values, 40, "values");
        const std::vector<float> joined = decode_half_parts(parts, 40);

        EXPECT_EQ(parts.size(), values.size() * 4);
        for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_NEAR(joined[i], values[i], std::abs(values[i]) * 0x1p-22F + 0x1p-35F) << deviation;
        }
    }
}

TEST(HalfParts, HoldTheLargestValuesAndRefuseLargerOnes) {
    const std::vector<float> most{65'504, -65'519};
    const std::vector<float> beyond{1, 70'000};

    EXPECT_EQ(decode_half_parts(encode_half_parts(most, 2, "values"), 2), most);
    EXPECT_THROW((void)encode_half_parts(beyond, 2, "values"), Error);
}

/// Each section of a row by itself: fp16, the remainders, and the values; e4m3's errors are a sixteenth at most.
TEST(HalfCodes, OfWeightsAreTheirFp16TheirRemaindersAndTheirValues) {
    constexpr std::size_t row = 40;
    for (const float deviation : {0.02F, 1.0F}) {
        const std::vector<float> values = random_values(3 * row, deviation, 1);

        const std::vector<std::byte> bytes = encode_half_codes(values, row, "values");

        ASSERT_EQ(bytes.size(), 4 * values.size());
        const std::vector<float> joined = test::decode_half_codes(bytes, row);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float half = __half2float(__float2half_rn(values[i]));
            const float code = test::value_of_e4m3(bytes[i / row * 4 * row + 3 * row + i % row]) / 64;
            EXPECT_NEAR(code, values[i], std::abs(values[i]) / 16 + 0x1p-16F) << deviation;
            EXPECT_NEAR(joined[i], values[i], std::abs(values[i] - half) / 16 + 0x1p-27F) << deviation;
        }
    }
}

TEST(HalfCodes, OfLargeWeightsAreTheLargestThatThereAre) {
    const std::vector<float> values{100, -60'000};
    const std::vector<std::byte> bytes = encode_half_codes(values, 2, "values");

    EXPECT_EQ(test::value_of_e4m3(bytes[6]), 448);
    EXPECT_EQ(test::value_of_e4m3(bytes[7]), -448);
    EXPECT_EQ(test::decode_half_codes(bytes, 2), values);
    EXPECT_THROW((void)encode_half_codes(std::vector<float>{1, 70'000}, 2, "values"), Error);
}

}  // namespace
}  // namespace sluice

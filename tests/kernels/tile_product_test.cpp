// Products in bf16 by AMX, and what is built on them; skipped on CPUs without.
#include "kernels/host/tile_product.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.hpp"
#include "kernels/host/invariant_product.hpp"
#include "tests/kernels/layer_runner.hpp"
#include "tests/support/error_of.hpp"

namespace sluice {
namespace {

class Tiles : public testing::Test {
protected:
    void SetUp() override {
        if (!has_tiles()) {
            GTEST_SKIP() << "this CPU has no AMX";
        }
        enable_tiles();
    }
};

/// By comparing distances in fp64; of two as near, the one whose last bit is 0.
std::uint16_t nearest_bf16(float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    const auto below = static_cast<std::uint16_t>(bits >> 16U);  // towards zero
    const auto above = static_cast<std::uint16_t>(below + 1);
    const auto value = [](std::uint16_t half) { return static_cast<double>(std::bit_cast<float>(half * 65536U)); };
    const double limit = std::ldexp(1.0, 128);  // where infinity stands for numbers too large
    const double over = std::isinf(value(above)) ? std::copysign(limit, x) : value(above);
    const double down = std::abs(x - value(below));
    const double up = std::abs(x - over);
    return down < up || (down == up && below % 2 == 0) ? below : above;
}

TEST(Bf16, IsTheNearest) {
    std::mt19937 bits(std::random_device{}());
    for (int i = 0; i < 200'000; ++i) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
        const auto halfway = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & 0xFFFF0000U) | 0x8000U);
        for (const float some : {x, halfway}) {
            if (std::isfinite(some)) {
                ASSERT_EQ(to_bf16(some), nearest_bf16(some)) << some;
            }
        }
        const auto half = static_cast<std::uint16_t>(bits());
        if (!std::isnan(from_bf16(half))) {
            ASSERT_EQ(to_bf16(from_bf16(half)), half);
        }
    }
    EXPECT_EQ(to_bf16(std::numeric_limits<float>::infinity()), 0x7F80);
    EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7F800001U)))));
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(-std::numeric_limits<float>::quiet_NaN()))));
}

/// The kernel refuses a process whose signal handlers' stack could not hold the tiles.
TEST(TilePermission, IsAnErrorWhereTheKernelRefusesIt) {
    std::uint64_t permitted = 0;
    constexpr unsigned long get_permitted = 0x1022;  // ARCH_GET_XCOMP_PERM
    if (!has_tiles() || ::syscall(SYS_arch_prctl, get_permitted, &permitted) != 0 || (permitted >> 18U & 1U) != 0) {
        GTEST_SKIP() << "this CPU has no AMX, or another test of this process has asked for it";
    }
    std::vector<char> memory(2048);
    const stack_t small{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
    stack_t before{};
    ASSERT_EQ(::sigaltstack(&small, &before), 0);
    const Error error = test::error_of([&] { enable_tiles(); });

    EXPECT_EQ(error.code(), ExitCode::unavailable);
    EXPECT_EQ(error.text().id, "E-HWL-147");
    ASSERT_EQ(::sigaltstack(&before, nullptr), 0);
}

TEST_F(Tiles, RoundAsOneNumberIsRounded) {
    std::mt19937 bits(std::random_device{}());
    for (const std::size_t count : {1U, 15U, 31U, 32U, 33U, 64U, 100U}) {
        std::vector<float> numbers(count);
        for (float& x : numbers) {
            do {
                x = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
            } while (!std::isnormal(x));  // others count as zero in products
        }
        numbers[count / 2] = std::numeric_limits<float>::quiet_NaN();
        std::vector<std::uint16_t> rounded(count, 0xEEEE);

        round_to_bf16(count, numbers.data(), rounded.data());

        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(rounded[i], to_bf16(numbers[i])) << i << " of " << count;
        }
    }
}

/// A packed matrix with its weights and bias.
struct SomeMatrix {
    SomeMatrix(std::size_t inputs, std::size_t outputs)
        : weights(random_floats(inputs * outputs, 1)),
          bias(random_floats(outputs, 2)),
          matrix(reserve_invariant(Precision::bf16, inputs, std::span<const float>(weights), bias, packed)) {
        packed.pack(NodeMemory::of_process(packed.bytes()), {}, 2);
    }

    std::vector<float> operator()(std::size_t rows, const std::vector<float>& in, AfterProduct after = {}) const {
        InvariantProduct product(Precision::bf16, matrix.inputs, rows);
        std::vector<float> out(rows * matrix.outputs + 1, std::numeric_limits<float>::quiet_NaN());
        product(matrix.view(), rows, in.data(), out.data(), after);
        EXPECT_TRUE(std::isnan(out.back())) << "written behind the outputs";
        out.pop_back();
        return out;
    }

    PackedWeights packed;
    std::vector<float> weights;
    std::vector<float> bias;
    InvariantMatrix matrix;
};

double rounded(float x) {
    return from_bf16(nearest_bf16(x));
}

TEST_F(Tiles, MultiplyAsPlainLoopsDoForAnySizes) {
    for (const std::size_t inputs : {1U, 31U, 33U, 300U, 1024U}) {
        for (const std::size_t outputs : {1U, 17U, 32U, 100U}) {
            const SomeMatrix matrix(inputs, outputs);
            for (const std::size_t rows : {1U, 16U, 17U, 33U, 48U, 193U}) {
                const std::vector<float> in = random_floats(rows * inputs, 3);
                std::vector<double> want;
                for (std::size_t i = 0; i < rows * outputs; ++i) {
                    const std::size_t row = i / outputs;
                    const std::size_t o = i % outputs;
                    double sum = matrix.bias[o];
                    for (std::size_t k = 0; k < inputs; ++k) {
                        sum += rounded(in[row * inputs + k]) * rounded(matrix.weights[o * inputs + k]);
                    }
                    want.push_back(sum);
                }

                std::vector<float> out = matrix(rows, in);

                EXPECT_LT(relative_error(out, want), fp32_tolerance) << rows << " x " << outputs << " x " << inputs;
                std::ranges::transform(out, out.begin(), [](float x) { return std::max(x, 0.0F); });
                EXPECT_EQ(matrix(rows, in, AfterProduct::relu), out);
            }
        }
    }
}

TEST_F(Tiles, GiveARowTheSameBitsAnywhere) {
    constexpr std::size_t inputs = 200;
    constexpr std::size_t outputs = 70;
    constexpr std::size_t most = 500;
    const SomeMatrix matrix(inputs, outputs);
    std::vector<float> in = random_floats(most * inputs, 3);
    const std::vector<float> together = matrix(most, in);
    for (const std::size_t rows : {1U, 7U, 16U, 17U, 32U, 191U, 193U}) {
        for (const std::size_t first : {std::size_t{0}, std::size_t{5}, most - rows}) {
            const std::vector<float> some(&in[first * inputs], &in[first * inputs] + rows * inputs);

            const std::vector<float> out = matrix(rows, some);

            EXPECT_TRUE(std::equal(out.begin(), out.end(), &together[first * outputs])) << first << " + " << rows;
        }
    }

    in[20 * inputs + 9] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> after = matrix(most, in, AfterProduct::relu);
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (i / outputs == 20) {
            ASSERT_TRUE(std::isnan(after[i])) << "seen, not taken for 0";
        } else {
            ASSERT_EQ(after[i], std::max(together[i], 0.0F));
        }
    }
}

TEST_F(Tiles, ShowTheirWeights) {
    const SomeMatrix matrix(45, 70);
    for (std::size_t o = 0; o < 70; ++o) {
        for (std::size_t i = 0; i < 45; ++i) {
            ASSERT_EQ(matrix.matrix.view().weight(o, i), rounded(matrix.weights[o * 45 + i])) << o << ", " << i;
        }
    }
}

}  // namespace
}  // namespace sluice

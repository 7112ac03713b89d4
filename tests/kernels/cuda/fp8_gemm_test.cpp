#include "kernels/cuda/gemm/fp8_gemm.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/kernels/cuda/e4m3.hpp"
#include "tests/kernels/cuda/gemm_operands.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

class Fp8GemmOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped() && gpu().instructions() != MatrixInstructions::wgmma) {
            GTEST_SKIP() << "no wgmma in this GPU and build";
        }
    }
};

/// A matrix in e4m3, on the device and as what that keeps, with a scale a row.
struct Fp8Rows {
    Fp8Rows(std::uint32_t rows, std::uint32_t depth, std::uint32_t seed)
        : scales(random_values(rows, 0.5F, seed)),
          values(random_values(std::size_t{rows} * depth, 16.0F, seed + 1)),
          bytes(values.size()) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            bytes[i] = test::e4m3_of(values[i]);
            values[i] = test::value_of_e4m3(bytes[i]);
        }
    }

    std::vector<float> scales;
    std::vector<float> values;
    std::vector<std::byte> bytes;
};

struct Fp8Operands {
    explicit Fp8Operands(const GemmShape& shape, std::uint32_t seed)
        : a(shape.rows, shape.depth, seed),
          b(shape.columns, shape.depth, seed + 10),
          bias(random_values(shape.columns, 100.0F, seed + 20)),
          residual(
              rounded(Precision::bf16, random_values(std::size_t{shape.rows} * shape.columns, 100.0F, seed + 21))) {}

    Fp8Rows a;
    Fp8Rows b;
    std::vector<float> bias;
    std::vector<float> residual;
};

/// Of all sums, as the tensor cores' own have no scales of columns.
constexpr float fp8_scale = 0x1p-7F;

std::vector<double> plain_fp8_product(const GemmShape& s, Fp8Sums sums, const Fp8Operands& of, GemmExtras extras) {
    std::vector<double> out(std::size_t{s.rows} * s.columns);
    for (std::size_t m = 0; m < s.rows; ++m) {
        for (std::size_t n = 0; n < s.columns; ++n) {
            double sum = 0;
            for (std::size_t k = 0; k < s.depth; ++k) {
                sum += static_cast<double>(of.a.values[m * s.depth + k] * of.b.values[n * s.depth + k]);
            }
            sum *= static_cast<double>(of.a.scales[m]) *
                   static_cast<double>(sums == Fp8Sums::promoted ? of.b.scales[n] : fp8_scale);
            sum += extras == GemmExtras::none ? 0 : static_cast<double>(of.bias[n]);
            out[m * s.columns + n] = plain_activation(sum, s.activation);
            if (extras == GemmExtras::bias_and_residual) {
                out[m * s.columns + n] += static_cast<double>(of.residual[m * s.columns + n]);
            }
        }
    }
    return out;
}

template <class Value>
DeviceMemory on_device(std::span<const Value> values) {
    return DeviceMemory(std::as_bytes(values));
}

/// The bytes of the product; behind them nothing was written.
std::vector<std::byte> multiply_fp8_on_gpu(const GemmShape& shape, Fp8Sums sums, const Fp8Operands& of,
                                           GemmExtras extras, const GemmOptions& options = {},
                                           std::uint32_t first_row = 0, const std::uint32_t* active = nullptr,
                                           const float* code_scale = nullptr) {
    constexpr std::size_t guard = 4096;
    const bool promoted = sums == Fp8Sums::promoted;
    const std::size_t bytes = std::size_t{shape.rows} * shape.columns * (code_scale == nullptr ? 2 : 1);
    const std::vector<std::byte> residual_bytes = encode(Precision::bf16, of.residual);
    const DeviceMemory a(std::span<const std::byte>(of.a.bytes));
    const DeviceMemory b(std::span<const std::byte>(of.b.bytes));
    const auto a_scales = on_device<float>(std::span(of.a.scales).subspan(first_row));
    const auto b_scales = on_device<float>(of.b.scales);
    const auto bias = on_device<float>(of.bias);
    const auto residual = on_device<std::byte>(residual_bytes);
    const auto scale = on_device<float>(std::span(&fp8_scale, 1));
    const DeviceMemory out(bytes + guard);
    const Fp8Gemm product(shape, sums,
                          {.a = a.as<std::byte>() + std::size_t{first_row} * shape.depth,
                           .b = b.as(),
                           .a_scales = a_scales.as<float>(),
                           .b_scales = promoted ? b_scales.as<float>() : nullptr,
                           .scale = promoted ? nullptr : scale.as<float>(),
                           .bias = extras == GemmExtras::none ? nullptr : bias.as<float>(),
                           .residual = extras == GemmExtras::bias_and_residual ? residual.as() : nullptr,
                           .out = out.as(),
                           .code_scale = code_scale,
                           .active = active},
                          options);
    product.enqueue(nullptr);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::byte> result = out.content();
    EXPECT_TRUE(
        std::ranges::all_of(std::span(result).subspan(bytes), [](std::byte one) { return one == std::byte{0xff}; }));
    result.resize(bytes);
    return result;
}

TEST_F(Fp8GemmOnGpu, EqualsAPlainProductOfWhatE4m3KeepsInEveryTile) {
    const GemmShape shapes[] = {{1, 8, 16},
                                {65, 72, 48, Activation::relu},
                                {129, 200, 144, Activation::gelu_tanh},
                                {300, 264, 1040, Activation::gelu_erf},
                                {127, 136, 2064}};
    std::uint32_t seed = 1;
    for (const GemmShape& shape : shapes) {
        const Fp8Operands operands(shape, seed += 100);
        for (const GemmExtras extras : {GemmExtras::none, GemmExtras::bias, GemmExtras::bias_and_residual}) {
            for (std::size_t tile = 0; tile < fp8_gemm_tiles.size(); ++tile) {
                SCOPED_TRACE(testing::Message()
                             << shape.rows << " x " << shape.columns << " x " << shape.depth << ", tile " << tile);
                const Fp8Sums sums = sums_of(fp8_gemm_tiles[tile]);
                const auto expected = plain_fp8_product(shape, sums, operands, extras);

                const auto got = multiply_fp8_on_gpu(shape, sums, operands, extras, {.tile = tile});

                EXPECT_LT(relative_error(decode(Precision::bf16, got), expected), tolerance(Precision::bf16));
            }
        }
    }
}

/// 14 bits of a sum of 16,384 products end above a mean product: without promotion, most of them would be cut off.
TEST_F(Fp8GemmOnGpu, KeepsLongSumsOfOneSign) {
    constexpr GemmShape shape{64, 64, 16384};
    Fp8Operands operands(shape, 7);
    for (Fp8Rows* const rows : {&operands.a, &operands.b}) {
        std::ranges::for_each(rows->values, [](float& value) { value = std::abs(value); });
        std::ranges::for_each(rows->bytes, [](std::byte& byte) { byte &= std::byte{0x7f}; });
        std::ranges::fill(rows->scales, 0x1p-12F);
    }
    const auto expected = plain_fp8_product(shape, Fp8Sums::promoted, operands, GemmExtras::none);

    const auto got = decode(Precision::bf16, multiply_fp8_on_gpu(shape, Fp8Sums::promoted, operands, GemmExtras::none));

    double mean = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        mean += (static_cast<double>(got[i]) / expected[i] - 1) / static_cast<double>(got.size());
    }
    EXPECT_LT(std::abs(mean), 5e-3);
}

class Fp8Bits : public Fp8GemmOnGpu, public testing::WithParamInterface<Fp8Sums> {};

TEST_P(Fp8Bits, AreTheSameInEveryTileForAnyRowsAndFewMultiprocessors) {
    constexpr GemmShape whole{300, 408, 528, Activation::gelu_tanh};
    const Fp8Operands operands(whole, 11);
    const auto expected = multiply_fp8_on_gpu(whole, GetParam(), operands, GemmExtras::bias);

    for (std::size_t tile = 0; tile < fp8_gemm_tiles.size(); ++tile) {
        if (sums_of(fp8_gemm_tiles[tile]) == GetParam()) {
            EXPECT_EQ(multiply_fp8_on_gpu(whole, GetParam(), operands, GemmExtras::bias, {.tile = tile}), expected);
        }
    }
    for (const std::uint32_t multiprocessors : {1U, 2U, 5U}) {
        EXPECT_EQ(
            multiply_fp8_on_gpu(whole, GetParam(), operands, GemmExtras::bias, {.multiprocessors = multiprocessors}),
            expected);
    }
    for (const auto& [first, rows] : {std::pair{0U, 1U}, {1U, 1U}, {63U, 2U}, {129U, 65U}, {1U, 299U}}) {
        GemmShape part = whole;
        part.rows = rows;
        const auto got = multiply_fp8_on_gpu(part, GetParam(), operands, GemmExtras::bias, {}, first);
        EXPECT_TRUE(
            std::ranges::equal(got, std::span(expected).subspan(std::size_t{first} * whole.columns * 2, got.size())))
            << rows << " rows from " << first;
    }
}

INSTANTIATE_TEST_SUITE_P(Sums, Fp8Bits, testing::Values(Fp8Sums::promoted, Fp8Sums::tensor),
                         [](const auto& of) { return of.param == Fp8Sums::promoted ? "Promoted" : "OfTensorCores"; });

/// The nearest e4m3 of values up to 448, but for what the tensor cores cut off.
TEST_F(Fp8GemmOnGpu, RoundsItsResultsToE4m3) {
    std::uint32_t seed = 40;
    for (const GemmShape& shape :
         {GemmShape{1, 64, 16, Activation::gelu_tanh}, GemmShape{129, 256, 144, Activation::gelu_tanh},
          GemmShape{300, 1088, 528, Activation::gelu_erf}}) {
        const Fp8Operands operands(shape, seed += 100);
        const auto expected = plain_fp8_product(shape, Fp8Sums::tensor, operands, GemmExtras::bias);
        double largest = 0;
        for (const double value : expected) {
            largest = std::max(largest, std::abs(value));
        }
        for (const float factor : {0x1p-4F, 8.0F}) {  // the latter makes values that are too large
            const auto scale = static_cast<double>(factor);
            const auto code_scale = on_device<float>(std::span(&factor, 1));
            for (std::size_t tile = 2; tile < fp8_gemm_tiles.size(); ++tile) {
                SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << ", tile " << tile);

                const auto got = multiply_fp8_on_gpu(shape, Fp8Sums::tensor, operands, GemmExtras::bias, {.tile = tile},
                                                     0, nullptr, code_scale.as<float>());

                for (std::size_t i = 0; i < got.size(); ++i) {
                    const std::uint32_t column = e4m3_column(static_cast<std::uint32_t>(i % shape.columns));
                    const double exact = expected[i / shape.columns * shape.columns + column];
                    const double wanted = std::clamp(exact * scale, -448.0, 448.0);
                    const double half_a_unit = std::max(std::abs(wanted) / 16, 0x1p-10);
                    ASSERT_NEAR(test::value_of_e4m3(got[i]), wanted, half_a_unit + 1e-3 * largest * scale) << i;
                }
            }
        }
    }
}

/// A column whose bias is NaN.
TEST_F(Fp8GemmOnGpu, LeavesNanInItsResults) {
    for (const Activation activation : {Activation::gelu_tanh, Activation::gelu_erf}) {
        const GemmShape shape{65, 128, 48, activation};
        Fp8Operands operands(shape, 17);
        operands.bias[70] = std::numeric_limits<float>::quiet_NaN();
        const float factor = 0x1p-6F;
        const auto code_scale = on_device<float>(std::span(&factor, 1));

        const auto got = multiply_fp8_on_gpu(shape, Fp8Sums::tensor, operands, GemmExtras::bias, {}, 0, nullptr,
                                             code_scale.as<float>());

        for (std::size_t i = 0; i < got.size(); ++i) {
            const std::uint32_t column = e4m3_column(static_cast<std::uint32_t>(i % shape.columns));
            ASSERT_EQ(std::isnan(test::value_of_e4m3(got[i])), column == 70) << i;
        }
    }
}

/// In the order of GemmShape::gated.
TEST_F(Fp8GemmOnGpu, MultipliesByGates) {
    std::uint32_t seed = 60;
    for (const Activation activation : {Activation::silu, Activation::gelu_tanh, Activation::gelu_erf}) {
        const GemmShape plain{300, 416, 272};
        const GemmShape shape{plain.rows, plain.columns, plain.depth, activation, true};
        const Fp8Operands operands(shape, seed += 100);
        const auto sums = plain_fp8_product(plain, Fp8Sums::tensor, operands, GemmExtras::bias);
        std::vector<double> expected;
        for (std::size_t at = 0; at < sums.size(); at += 2 * gate_columns) {
            for (std::size_t i = at; i < at + gate_columns; ++i) {
                expected.push_back(plain_activation(sums[i], activation) * sums[i + gate_columns]);
            }
        }

        auto got = multiply_fp8_on_gpu(shape, Fp8Sums::tensor, operands, GemmExtras::bias);

        got.resize(got.size() / 2);
        EXPECT_LT(relative_error(decode(Precision::bf16, got), expected), 2 * tolerance(Precision::bf16));
    }
}

TEST_F(Fp8GemmOnGpu, MultipliesActiveRowsOnly) {
    constexpr GemmShape shape{600, 264, 144};
    const Fp8Operands operands(shape, 13);
    for (std::size_t tile = 0; tile < fp8_gemm_tiles.size(); ++tile) {
        const Fp8Sums sums = sums_of(fp8_gemm_tiles[tile]);
        const auto expected = multiply_fp8_on_gpu(shape, sums, operands, GemmExtras::bias_and_residual);
        for (const std::uint32_t active : {0U, 1U, 300U, 301U, 1000U}) {
            SCOPED_TRACE(testing::Message() << active << " rows, tile " << tile);
            const DeviceMemory count(std::as_bytes(std::span(&active, 1)));

            const auto got = multiply_fp8_on_gpu(shape, sums, operands, GemmExtras::bias_and_residual, {.tile = tile},
                                                 0, count.as<std::uint32_t>());

            const std::size_t bytes = std::size_t{std::min(active, shape.rows)} * shape.columns * 2;
            EXPECT_TRUE(std::ranges::equal(std::span(got).first(bytes), std::span(expected).first(bytes)));
            if (bytes == 0) {
                EXPECT_EQ(got, std::vector(got.size(), std::byte{0xff}));
            }
        }
    }
}

TEST_F(Fp8GemmOnGpu, RefusesWhatTheCopyEngineCannotMove) {
    const DeviceMemory memory(4096);
    const Fp8GemmMemory good{.a = memory.as(),
                             .b = memory.as(),
                             .a_scales = memory.as<float>(),
                             .b_scales = memory.as<float>(),
                             .bias = nullptr,
                             .residual = nullptr,
                             .out = memory.as()};
    Fp8GemmMemory crooked = good;
    crooked.b = memory.as<std::byte>() + 8;
    Fp8GemmMemory plain = good;
    plain.b_scales = nullptr;
    Fp8GemmMemory codes = plain;
    codes.code_scale = memory.as<float>();
    constexpr Fp8Sums promoted = Fp8Sums::promoted;
    constexpr Fp8Sums tensor = Fp8Sums::tensor;

    EXPECT_EQ(Fp8Gemm({8, 8, 16}, promoted, good).path(), "wgmma e4m3 128x128");
    EXPECT_EQ(Fp8Gemm({8192, 8192, 16}, promoted, good, {.multiprocessors = 132}).path(),
              "wgmma e4m3 128x192, clusters of 2x1");
    EXPECT_EQ(Fp8Gemm({8192, 8192, 16, Activation::gelu_erf}, tensor, codes, {.multiprocessors = 132}).path(),
              "wgmma e4m3 128x192, clusters of 2x1, ping-pong");
    EXPECT_THROW(Fp8Gemm({8, 12, 16}, promoted, good), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 24}, promoted, good), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 16}, promoted, crooked), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 16}, promoted, plain), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 16}, tensor, good), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 32, 16, Activation::gelu_erf}, tensor, codes), ContractViolation);  // half a period
    EXPECT_THROW(Fp8Gemm({8, 64, 16}, tensor, codes), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 16}, promoted, good, {.tile = fp8_gemm_tiles.size()}), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 16}, tensor, plain, {.tile = 0}), ContractViolation);
    const GemmShape gated{8, 16, 16, Activation::silu, true};
    EXPECT_EQ(Fp8Gemm(gated, tensor, plain).path(), "wgmma e4m3 128x192, clusters of 2x1, ping-pong");
    EXPECT_THROW(Fp8Gemm(gated, promoted, good), ContractViolation);
    EXPECT_THROW(Fp8Gemm(gated, tensor, plain, {.tile = 3}), ContractViolation);
    EXPECT_THROW(Fp8Gemm({8, 8, 16, Activation::silu}, tensor, plain), ContractViolation);
}

}  // namespace
}  // namespace sluice

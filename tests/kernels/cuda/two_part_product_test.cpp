#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/ordered/product.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/cuda/half_codes.hpp"

namespace sluice {
namespace {

using decoder::FloatProduct;
using decoder::FloatProductShape;
using decoder::TileBest;

template <class T>
std::span<const std::byte> bytes_of_all(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

class TwoPartProductOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped() && gpu().instructions() != MatrixInstructions::wgmma) {
            GTEST_SKIP() << "no wgmma: its code, or its GPU, is another";
        }
    }
};

constexpr Precision of_parts[] = {Precision::tf32x3, Precision::fp16x2};

/// Operands in fp32 and, in parts, on the device.
struct Factors {
    Factors(Precision of_parts, std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t seed)
        : precision(of_parts),
          rows(m),
          columns(n),
          depth(k),
          stride((n + 9) / 8 * 8),
          a(random_values(std::size_t{m} * k, 1.0F, seed)),
          b(random_values(std::size_t{n} * k, 1.0F / std::sqrt(static_cast<float>(k)), seed + 1)),
          bias(random_values(n + 1, 0.5F, seed + 2)),
          residual(random_values(std::size_t{m} * stride, 1.0F, seed + 3)),
          a_parts(std::span<const std::byte>(test::encode_rows(of_parts, a, k))),
          b_parts(std::span<const std::byte>(test::encode_weights(of_parts, b, k))),
          bias_on_device(bytes_of_all(bias)),
          residual_on_device(bytes_of_all(residual)) {}

    Precision precision;
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t depth;
    std::uint32_t stride;
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> bias;
    std::vector<float> residual;
    DeviceMemory a_parts;
    DeviceMemory b_parts;
    DeviceMemory bias_on_device;
    DeviceMemory residual_on_device;
};

struct Wanted {
    bool bias = false;
    bool residual = false;
    bool in_parts = false;
    Activation activation = Activation::none;
    std::uint32_t first = 0;                ///< Rows of a from here on,
    std::optional<std::uint32_t> rows{};    ///< so many of them,
    std::optional<std::uint32_t> active{};  ///< of which so many count.
    std::optional<std::uint32_t> first_column{};
    std::optional<std::uint32_t> columns{};
};

/// The bytes that it writes; behind them, and behind the active rows, nothing was written.
std::vector<std::byte> multiply(const Factors& factors, const Wanted& wanted = {}) {
    constexpr std::size_t guard = 4096;
    const std::uint32_t rows = wanted.rows.value_or(factors.rows);
    const std::uint32_t active = wanted.active.value_or(rows);
    const std::uint32_t columns = wanted.columns.value_or(factors.columns);
    const std::uint32_t stride = wanted.in_parts ? columns : factors.stride;
    const std::size_t row_bytes = stride * sizeof(float);
    const DeviceMemory count(std::as_bytes(std::span(&active, 1)));
    const DeviceMemory out(rows * row_bytes + guard);
    const std::size_t depth_bytes = std::size_t{factors.depth} * 4;
    const FloatProduct product({.rows = rows,
                                .columns = columns,
                                .depth = factors.depth,
                                .activation = wanted.activation,
                                .in_parts = wanted.in_parts},
                               factors.precision,
                               {.a = factors.a_parts.as<std::byte>() + wanted.first * depth_bytes,
                                .b = factors.b_parts.as<std::byte>() + wanted.first_column.value_or(0) * depth_bytes,
                                .bias = wanted.bias ? factors.bias_on_device.as<float>() : nullptr,
                                .residual = wanted.residual ? factors.residual_on_device.as<float>() : nullptr,
                                .out = out.as<float>(),
                                .stride = stride,
                                .bests = nullptr,
                                .active = count.as<std::uint32_t>()});
    product.enqueue(nullptr);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::byte> result = out.content();
    const std::size_t written = std::min(active, rows) * row_bytes;
    EXPECT_TRUE(std::all_of(result.begin() + static_cast<std::ptrdiff_t>(written), result.end(),
                            [](std::byte b) { return b == std::byte{0xff}; }));
    result.resize(written);
    return result;
}

double plain_activation_of(double x, Activation activation) {
    return activation == Activation::gelu_tanh
               ? 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)))
               : x;
}

/// (rows, columns)
std::vector<double> plain_sums(const Factors& of) {
    std::vector<double> sums(std::size_t{of.rows} * of.columns);
    for (std::size_t m = 0; m < of.rows; ++m) {
        for (std::size_t n = 0; n < of.columns; ++n) {
            for (std::size_t k = 0; k < of.depth; ++k) {
                sums[m * of.columns + n] +=
                    static_cast<double>(of.a[m * of.depth + k]) * static_cast<double>(of.b[n * of.depth + k]);
            }
        }
    }
    return sums;
}

std::vector<double> plain_product_of(const Factors& of, const Wanted& wanted, std::vector<double> sums) {
    for (std::size_t m = 0; m < of.rows; ++m) {
        for (std::size_t n = 0; n < of.columns; ++n) {
            double& sum = sums[m * of.columns + n];
            sum = plain_activation_of(sum + (wanted.bias ? static_cast<double>(of.bias[n]) : 0), wanted.activation) +
                  (wanted.residual ? static_cast<double>(of.residual[m * of.stride + n]) : 0);
        }
    }
    return sums;
}

/// The columns that count of rows of `stride` values.
std::vector<float> without_padding(const std::vector<float>& rows, std::uint32_t columns, std::uint32_t stride) {
    std::vector<float> values;
    for (std::size_t row = 0; row * stride < rows.size(); ++row) {
        const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * stride);
        values.insert(values.end(), begin, begin + columns);
    }
    return values;
}

/// In tf32x3 as exact as fp32: products in 22 bits, sums of 256 in 24. In fp16x2 remainders of 2^-12 have four bits.
double tolerance_of_parts(Precision precision) {
    return precision == Precision::tf32x3 ? 2e-6 : 2e-5;
}

std::vector<float> decode_parts(Precision precision, std::span<const std::byte> bytes, std::size_t row) {
    return precision == Precision::tf32x3 ? decode_half_parts(bytes, row) : test::decode_code_rows(bytes, row);
}

/// Depths of less than a step, of several chunks, and of half a step at the end.
TEST_F(TwoPartProductOnGpu, EqualsAPlainProductAtOddSizes) {
    std::uint32_t seed = 1;
    for (const Precision precision : of_parts) {
        for (const auto& [rows, columns, depth] :
             {std::array{1U, 8U, 8U}, std::array{33U, 200U, 72U}, std::array{129U, 264U, 520U},
              std::array{300U, 386U, 1176U}, std::array{2100U, 8U, 840U}, std::array{2101U, 386U, 136U}}) {
            const Factors factors(precision, rows, columns, depth, seed += 10);
            const std::vector<double> sums = plain_sums(factors);
            for (const Wanted& wanted : {Wanted{}, Wanted{.bias = true, .activation = Activation::gelu_tanh},
                                         Wanted{.bias = true, .residual = true}}) {
                if (precision == Precision::fp16x2 && wanted.activation != Activation::none) {
                    continue;  // which it has of what the next product takes only
                }
                const std::vector<float> got = decode(Precision::fp32, multiply(factors, wanted));

                EXPECT_LT(relative_error(without_padding(got, columns, factors.stride),
                                         plain_product_of(factors, wanted, sums)),
                          tolerance_of_parts(precision))
                    << name_of(precision) << ", " << rows << " x " << columns << " x " << depth << ", bias "
                    << wanted.bias;
            }
        }
    }
}

TEST_F(TwoPartProductOnGpu, WritesWhatTheNextProductTakes) {
    for (const Precision precision : of_parts) {
        for (const std::uint32_t columns : {8U, 200U, 392U}) {
            const Factors factors(precision, 131, columns, 136, columns);
            Wanted wanted{.bias = true, .in_parts = true, .activation = Activation::gelu_tanh};

            const std::vector<std::byte> got = multiply(factors, wanted);

            EXPECT_LT(relative_error(decode_parts(precision, got, columns),
                                     plain_product_of(factors, wanted, plain_sums(factors))),
                      tolerance_of_parts(precision))
                << name_of(precision) << ", " << columns;
            if (precision == Precision::fp16x2) {  // the values are those that it stores as they are
                wanted.activation = Activation::none;
                const std::vector<std::byte> plain = multiply(factors, wanted);
                wanted.in_parts = false;
                const std::vector<float> floats =
                    without_padding(decode(Precision::fp32, multiply(factors, wanted)), columns, factors.stride);
                EXPECT_EQ(plain, test::encode_code_rows(floats, columns)) << columns;
            }
        }
    }
}

/// Both beside sums in fp64, of operands as models have them.
TEST_F(TwoPartProductOnGpu, ErrsAsFp32Does) {
    constexpr std::uint32_t rows = 128;
    constexpr std::uint32_t columns = 128;
    for (const std::uint32_t depth : {768U, 3072U, 8192U}) {
        const Factors factors(Precision::tf32x3, rows, columns, depth, depth);
        std::vector<float> across(factors.b.size());
        for (std::size_t n = 0; n < columns; ++n) {
            for (std::size_t k = 0; k < depth; ++k) {
                across[k * columns + n] = factors.b[n * depth + k];
            }
        }
        const DeviceMemory a(bytes_of_all(factors.a));
        const DeviceMemory b(bytes_of_all(across));
        const DeviceMemory none(bytes_of_all(std::vector<float>(columns)));
        const DeviceMemory out(std::size_t{rows} * columns * sizeof(float));
        const DeviceMemory count(std::as_bytes(std::span(&rows, 1)));
        ordered::enqueue_product({.in = a.as<float>(),
                                  .weights = b.as<float>(),
                                  .bias = none.as<float>(),
                                  .out = out.as<float>(),
                                  .most_rows = rows,
                                  .columns = columns,
                                  .depth = depth,
                                  .rows = count.as<std::uint32_t>()},
                                 nullptr);
        const std::vector<double> expected = plain_sums(factors);
        const double of_fp32 = relative_error(decode(Precision::fp32, out.content()), expected);

        const std::vector<float> got = decode(Precision::fp32, multiply(factors));

        const double error = relative_error(without_padding(got, columns, factors.stride), expected);
        EXPECT_LE(error, 4 * of_fp32) << depth << " deep";
    }
}

/// Beside what is left when both factors are rounded to fp16.
TEST_F(TwoPartProductOnGpu, ErrsATwentiethOfWhatFp16Does) {
    for (const std::uint32_t depth : {768U, 3072U}) {
        const Factors factors(Precision::fp16x2, 128, 128, depth, depth);
        Factors in_fp16(factors.precision, 128, 128, depth, depth);
        for (std::vector<float>* const values : {&in_fp16.a, &in_fp16.b}) {
            *values = decode(Precision::fp16, encode(Precision::fp16, *values));
        }
        const std::vector<double> expected = plain_sums(factors);
        const std::vector<double> rounded = plain_sums(in_fp16);
        const double of_fp16 = relative_error(std::vector<float>(rounded.begin(), rounded.end()), expected);

        const std::vector<float> got = decode(Precision::fp32, multiply(factors));

        EXPECT_LE(20 * relative_error(without_padding(got, factors.columns, factors.stride), expected), of_fp16)
            << depth << " deep";
    }
}

/// e4m3 has no room for such factors: only their corrections are lost.
TEST_F(TwoPartProductOnGpu, FactorsTooLargeForCodesAreThoseOfFp16) {
    Factors factors(Precision::fp16x2, 64, 64, 256, 21);
    for (float& value : factors.a) {
        value *= 3000;
    }
    for (float& value : factors.b) {
        value *= 500;
    }
    factors.a_parts.set(std::span<const std::byte>(test::encode_rows(factors.precision, factors.a, factors.depth)));
    factors.b_parts.set(std::span<const std::byte>(test::encode_weights(factors.precision, factors.b, factors.depth)));

    const std::vector<float> got = decode(Precision::fp32, multiply(factors));

    EXPECT_LE(relative_error(without_padding(got, factors.columns, factors.stride), plain_sums(factors)),
              tolerance(Precision::fp16));
}

TEST_F(TwoPartProductOnGpu, GivesTheSameBitsWhateverIsBesideAnElement) {
    constexpr std::uint32_t rows = 300;
    constexpr std::uint32_t columns = 584;
    for (const Precision precision : of_parts) {
        const Factors factors(precision, rows, columns, 1032, 7);
        const std::vector<float> expected = decode(Precision::fp32, multiply(factors));

        for (const auto& [first, some] : {std::pair{0U, 1U}, {1U, 1U}, {63U, 2U}, {129U, 65U}, {1U, 299U}}) {
            for (const auto& [first_column, some_columns] : {std::pair{0U, 2U}, {191U, 10U}, {8U, 576U}}) {
                const std::vector<float> got = decode(
                    Precision::fp32,
                    multiply(factors,
                             {.first = first, .rows = some, .first_column = first_column, .columns = some_columns}));

                std::uint32_t different = 0;
                for (std::size_t m = 0; m < some; ++m) {
                    for (std::size_t n = 0; n < some_columns; ++n) {
                        const float there = expected[(first + m) * factors.stride + first_column + n];
                        different += got[m * factors.stride + n] == there ? 0 : 1;
                    }
                }
                EXPECT_EQ(different, 0U) << name_of(precision) << ", " << some << " rows from " << first
                                         << ", columns from " << first_column;
            }
        }
    }
}

/// Products of up to 2,048 rows have small tiles, others large ones; the bits are the same.
TEST_F(TwoPartProductOnGpu, MultipliesActiveRowsOnly) {
    constexpr std::uint32_t many = 2100;
    constexpr std::uint32_t few = 2048;
    for (const Precision precision : of_parts) {
        for (const auto& [columns, depth] : {std::pair{200U, 72U}, {392U, 840U}}) {
            const Factors factors(precision, many, columns, depth, 9);
            for (Wanted wanted : {Wanted{},
                                  {.bias = true, .residual = true},
                                  {.bias = true, .in_parts = true, .activation = Activation::gelu_tanh}}) {
                const std::vector<std::byte> expected = multiply(factors, wanted);
                for (const auto& [rows, active] : {std::pair{many, 0U},
                                                   {many, 1U},
                                                   {many, 255U},
                                                   {many, few + 1},
                                                   {few, 0U},
                                                   {few, 300U},
                                                   {few, few}}) {
                    wanted.rows = rows;
                    wanted.active = active;
                    const std::vector<std::byte> got = multiply(factors, wanted);

                    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()))
                        << name_of(precision) << ", " << active << " of " << rows << " rows by " << columns
                        << ", depth " << depth << ", parts: " << wanted.in_parts << ", residual: " << wanted.residual;
                }
            }
        }
    }
}

TEST_F(TwoPartProductOnGpu, LeavesTheLargestSumsOfEachTile) {
    constexpr std::uint32_t rows = 131;
    for (const Precision precision : of_parts) {
        const Factors factors(precision, rows, 1001, 200, 11);
        const DeviceMemory bests(rows * decoder::most_best_tiles(factors.columns) * sizeof(TileBest));
        const DeviceMemory count(std::as_bytes(std::span(&rows, 1)));

        const FloatProduct product({.rows = rows, .columns = factors.columns, .depth = factors.depth}, precision,
                                   {.a = factors.a_parts.as(),
                                    .b = factors.b_parts.as(),
                                    .bias = nullptr,
                                    .residual = nullptr,
                                    .out = nullptr,
                                    .stride = factors.stride,
                                    .bests = bests.as<TileBest>(),
                                    .active = count.as<std::uint32_t>()});
        product.enqueue(nullptr);

        const std::uint32_t of_tile = product.tile_columns();
        const std::uint32_t tiles = product.best_tiles();
        const std::vector<float> scores = decode(Precision::fp32, multiply(factors));
        const std::vector<std::byte> bytes = bests.content();
        for (std::uint32_t m = 0; m < rows; ++m) {
            for (std::uint32_t t = 0; t < tiles; ++t) {
                TileBest best{};
                std::memcpy(&best, &bytes[(m * tiles + t) * sizeof best], sizeof best);
                const auto row = scores.begin() + static_cast<std::ptrdiff_t>(m * factors.stride);
                const auto end = std::min((t + 1) * of_tile, factors.columns);
                const auto largest = std::max_element(row + t * of_tile, row + end);
                ASSERT_EQ(best.place, static_cast<std::uint32_t>(largest - row)) << m << ", " << t;
                ASSERT_EQ(best.score, *largest) << m << ", " << t;
                std::vector<float> of_tile_sorted(row + t * of_tile, row + end);
                std::ranges::sort(of_tile_sorted, std::greater());
                ASSERT_EQ(best.second, of_tile_sorted[1]) << m << ", " << t;
            }
        }
    }
}

/// What fp16 has no room for shows in all that depends on it.
TEST_F(TwoPartProductOnGpu, ValuesBeyondItsRangeAreNotFinite) {
    for (const Precision precision : of_parts) {
        Factors factors(precision, 4, 8, 16, 3);
        factors.bias_on_device.set(bytes_of_all(std::vector<float>(8, 1e6F)));

        const std::vector<float> parts =
            decode_parts(precision, multiply(factors, {.bias = true, .in_parts = true}), factors.columns);
        const std::vector<float> floats = decode(Precision::fp32, multiply(factors, {.bias = true}));

        EXPECT_TRUE(std::ranges::none_of(parts, [](float value) { return std::isfinite(value); }));
        EXPECT_TRUE(std::isfinite(floats[0]));
    }
}

TEST_F(TwoPartProductOnGpu, RefusesWhatItDoesNotWrite) {
    const DeviceMemory memory(4096);
    const decoder::FloatProductMemory good{.a = memory.as(),
                                           .b = memory.as(),
                                           .bias = nullptr,
                                           .residual = nullptr,
                                           .out = memory.as<float>(),
                                           .stride = 8,
                                           .bests = nullptr,
                                           .active = memory.as<std::uint32_t>()};
    const FloatProductShape in_parts{.rows = 8, .columns = 8, .depth = 8, .in_parts = true};
    FloatProductShape crooked = in_parts;
    crooked.columns = 6;
    decoder::FloatProductMemory with_residual = good;
    with_residual.residual = memory.as<float>();

    EXPECT_THROW(FloatProduct(in_parts, Precision::tf32, good), ContractViolation);
    EXPECT_THROW(FloatProduct(crooked, Precision::tf32x3, good), ContractViolation);
    EXPECT_THROW(FloatProduct(in_parts, Precision::tf32x3, with_residual), ContractViolation);
    EXPECT_NO_THROW(FloatProduct(in_parts, Precision::tf32x3, good));
    EXPECT_NO_THROW(FloatProduct(in_parts, Precision::fp16x2, good));
    FloatProductShape activated = in_parts;
    activated.activation = Activation::gelu_erf;
    EXPECT_THROW(FloatProduct(activated, Precision::fp16x2, good), ContractViolation);
    activated.activation = Activation::gelu_tanh;
    EXPECT_NO_THROW(FloatProduct(activated, Precision::fp16x2, good));
    activated.in_parts = false;
    EXPECT_THROW(FloatProduct(activated, Precision::fp16x2, good), ContractViolation);
}

}  // namespace
}  // namespace sluice

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/gemm/gemm.hpp"
#include "tests/kernels/cuda/gemm_operands.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

/// Sums of rows that products leave, and scales that they make of such sums.
class GemmRowSumsOnGpu : public OnGpu {};

/// (rows, columns / summed_values, 2): of each summed_values values of a row the sum, and that of their squares.
template <class T>
std::vector<double> plain_row_sums(const std::vector<T>& values, std::uint32_t rows, std::uint32_t columns) {
    std::vector<double> sums(std::size_t{columns / summed_values} * rows * 2);
    for (std::size_t m = 0; m < rows; ++m) {
        for (std::size_t n = 0; n < columns; ++n) {
            const auto value = static_cast<double>(values[m * columns + n]);
            double* const of = &sums[(m * columns + n) / summed_values * 2];
            of[0] += value;
            of[1] += value * value;
        }
    }
    return sums;
}

TEST_F(GemmRowSumsOnGpu, SumsItsRowsUpWithTheSameBitsInEveryTile) {
    if (std::ranges::count(ways(), MatrixInstructions::wgmma) == 0) {
        GTEST_SKIP() << "needs wgmma";
    }
    constexpr GemmShape shape{300, 320, 136};
    for (const Precision precision : of_two_bytes) {
        const GemmOperands operands(precision, shape.rows, shape.columns, shape.depth, 61);
        const auto expected =
            plain_row_sums(plain_product(shape, operands, GemmExtras::bias_and_residual), shape.rows, shape.columns);
        std::vector<std::byte> of_first_tile;
        for (std::size_t tile = 0; tile < gemm_tiles.size(); ++tile) {
            SCOPED_TRACE(testing::Message() << name_of(precision) << ", tile " << tile);
            const DeviceMemory out(operands.on_device[3].content().size());
            const DeviceMemory sums(expected.size() * sizeof(float));

            Gemm(shape, precision,
                 {.a = operands.on_device[0].as(),
                  .b = operands.on_device[1].as(),
                  .bias = operands.on_device[2].as<float>(),
                  .residual = operands.on_device[3].as(),
                  .out = out.as(),
                  .out_sums = sums.as<RowSums>()},
                 {.tile = tile})
                .enqueue(nullptr);

            EXPECT_LT(relative_error(floats_in(Precision::fp32, sums), expected), 1e-5);
            of_first_tile = tile == 0 ? sums.content() : of_first_tile;
            EXPECT_EQ(sums.content(), of_first_tile);
        }
    }
}

/// 1 / sqrt(variance + epsilon) of each row of a, or of its mean square.
std::vector<float> plain_row_scales(const std::vector<float>& a, const GemmShape& shape, double epsilon, bool is_rms) {
    std::vector<float> scales(shape.rows);
    for (std::size_t m = 0; m < shape.rows; ++m) {
        double values = 0;
        double squares = 0;
        for (std::size_t k = 0; k < shape.depth; ++k) {
            values += static_cast<double>(a[m * shape.depth + k]);
        }
        const double mean = is_rms ? 0 : values / shape.depth;
        for (std::size_t k = 0; k < shape.depth; ++k) {
            squares += std::pow(static_cast<double>(a[m * shape.depth + k]) - mean, 2);
        }
        scales[m] = static_cast<float>(1 / std::sqrt(squares / shape.depth + epsilon));
    }
    return scales;
}

/// Of rows that have 1, 5, 8, 9 and 25 sums, which are loaded eight at a time.
TEST_F(GemmRowSumsOnGpu, ScalesRowsByTheirSumsWithTheSameBitsInEveryTile) {
    if (std::ranges::count(ways(), MatrixInstructions::wgmma) == 0) {
        GTEST_SKIP() << "needs wgmma";
    }
    constexpr float epsilon = 0.05F;
    constexpr GemmShape shapes[] = {{130, 72, 64}, {300, 264, 320}, {130, 72, 512}, {130, 72, 576}, {130, 72, 1600}};
    for (const GemmShape& shape : shapes) {
        for (const Precision precision : of_two_bytes) {
            GemmOperands operands(precision, shape.rows, shape.columns, shape.depth, 71);
            for (std::uint32_t m = 0; m < shape.rows; ++m) {  // rows of means and deviations of their own
                for (std::uint32_t k = 0; k < shape.depth; ++k) {
                    float& value = operands.a[m * shape.depth + k];
                    value = value * (0.1F + 0.01F * static_cast<float>(m)) + 0.5F;
                }
            }
            operands.a = rounded(precision, operands.a);
            const DeviceMemory a(std::span<const std::byte>(encode(precision, operands.a)));
            const std::vector<double> plain = plain_row_sums(operands.a, shape.rows, shape.depth);
            const std::vector<float> as_floats(plain.begin(), plain.end());
            const DeviceMemory sums(std::as_bytes(std::span(as_floats)));
            for (const bool is_rms : {false, true}) {
                operands.row_scales = plain_row_scales(operands.a, shape, static_cast<double>(epsilon), is_rms);
                const auto expected = plain_product(shape, operands, GemmExtras::bias_and_scales);
                std::vector<std::byte> of_first_tile;
                for (std::size_t tile = 0; tile < gemm_tiles.size(); ++tile) {
                    SCOPED_TRACE(testing::Message() << shape.depth << " deep, " << name_of(precision) << ", tile "
                                                    << tile << (is_rms ? ", RMS" : ""));
                    const DeviceMemory out(expected.size() * element_bytes(precision));

                    Gemm(shape, precision,
                         {.a = a.as(),
                          .b = operands.on_device[1].as(),
                          .bias = operands.on_device[2].as<float>(),
                          .residual = nullptr,
                          .out = out.as(),
                          .norm = {.sums = sums.as<RowSums>(), .epsilon = epsilon, .is_rms = is_rms}},
                         {.tile = tile})
                        .enqueue(nullptr);

                    EXPECT_LT(relative_error(floats_in(precision, out), expected), tolerance(precision));
                    of_first_tile = tile == 0 ? out.content() : of_first_tile;
                    EXPECT_EQ(out.content(), of_first_tile);
                }
            }
        }
    }
}

TEST_F(GemmRowSumsOnGpu, RefusesSumsOfRowsThatItCannotMake) {
    const DeviceMemory memory(64 * 64 * 2);
    const GemmMemory plain{memory.as(), memory.as(), nullptr, nullptr, memory.as()};
    GemmMemory summed = plain;
    summed.out_sums = memory.as<RowSums>();
    GemmMemory scaled = plain;
    scaled.norm.sums = memory.as<RowSums>();

    EXPECT_THROW(Gemm({8, 72, 64}, Precision::bf16, summed), ContractViolation);
    EXPECT_THROW(Gemm({8, 64, 72}, Precision::bf16, scaled), ContractViolation);
    for (const GemmMemory& wanted : {summed, scaled}) {
        EXPECT_THROW(Gemm({8, 64, 64}, Precision::bf16, wanted, {.instructions = MatrixInstructions::mma}),
                     ContractViolation);
    }
    scaled.row_scales = memory.as<float>();
    EXPECT_THROW(Gemm({8, 64, 64}, Precision::bf16, scaled), ContractViolation);
    summed.out_sums = reinterpret_cast<RowSums*>(memory.as<float>() + 1);
    scaled = plain;
    scaled.norm.sums = summed.out_sums;
    for (const GemmMemory& unaligned : {summed, scaled}) {
        EXPECT_THROW(Gemm({8, 64, 64}, Precision::bf16, unaligned), ContractViolation);
    }
}

}  // namespace
}  // namespace sluice

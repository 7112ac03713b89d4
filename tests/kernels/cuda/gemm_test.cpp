#include "kernels/cuda/gemm/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/kernels/cuda/gemm_operands.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

class GemmOnGpu : public OnGpu {};

std::size_t tiles_of(MatrixInstructions way) {
    return way == MatrixInstructions::mma ? mma_tiles.size() : gemm_tiles.size();
}

/// The bytes of the product; behind them, nothing was written.
std::vector<std::byte> multiply_on_gpu(const GemmShape& shape, Precision precision, const GemmOperands& operands,
                                       GemmExtras extras, const GemmOptions& options, std::uint32_t first_row = 0) {
    constexpr std::size_t guard = 4096;
    const std::size_t columns = shape.gated ? shape.columns / 2 : shape.columns;
    const std::size_t bytes = shape.rows * columns * element_bytes(precision);
    const DeviceMemory out(bytes + guard);
    const auto* const a = operands.on_device[0].as<std::byte>();
    const Gemm product(
        shape, precision,
        {.a = a + std::size_t{first_row} * shape.depth * element_bytes(precision),
         .b = operands.on_device[1].as(),
         .bias = extras == GemmExtras::none ? nullptr : operands.on_device[2].as<float>(),
         .residual = extras == GemmExtras::bias_and_residual ? operands.on_device[3].as() : nullptr,
         .out = out.as(),
         .row_scales = extras == GemmExtras::bias_and_scales ? operands.on_device[4].as<float>() + first_row : nullptr},
        options);
    product.enqueue(nullptr);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::byte> result = out.content();
    EXPECT_TRUE(std::all_of(result.begin() + static_cast<std::ptrdiff_t>(bytes), result.end(),
                            [](std::byte b) { return b == std::byte{0xff}; }));
    result.resize(bytes);
    return result;
}

TEST_F(GemmOnGpu, EqualsAPlainProductAtOddSizesInEveryTile) {
    const GemmShape shapes[] = {{1, 8, 8},
                                {31, 16, 40},
                                {33, 72, 64, Activation::relu},
                                {129, 520, 200, Activation::gelu_tanh},
                                {300, 264, 72, Activation::gelu_erf}};
    std::uint32_t seed = 1;
    for (const GemmShape& shape : shapes) {
        for (const Precision precision : of_two_bytes) {
            const GemmOperands operands(precision, shape.rows, shape.columns, shape.depth, seed += 10);
            for (const GemmExtras extras :
                 {GemmExtras::none, GemmExtras::bias, GemmExtras::bias_and_residual, GemmExtras::bias_and_scales}) {
                const auto expected = plain_product(shape, operands, extras);
                for (const MatrixInstructions way : ways()) {
                    for (std::size_t tile = 0; tile < tiles_of(way); ++tile) {
                        SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << ", " << name_of(way)
                                                        << ", tile " << tile);

                        const auto got =
                            multiply_on_gpu(shape, precision, operands, extras, {.tile = tile, .instructions = way});

                        EXPECT_LT(relative_error(decode(precision, got), expected), tolerance(precision));
                    }
                }
            }
        }
    }
}

TEST_F(GemmOnGpu, GivesTheSameBitsInEveryTileAndForAnyNumberOfRows) {
    constexpr GemmShape whole{300, 264, 1032, Activation::gelu_tanh};
    for (const Precision precision : of_two_bytes) {
        const GemmOperands operands(precision, whole.rows, whole.columns, whole.depth, 7);
        std::vector<std::pair<MatrixInstructions, GemmExtras>> ways_and_extras;
        for (const MatrixInstructions way : ways()) {
            ways_and_extras.insert(ways_and_extras.end(),
                                   {{way, GemmExtras::bias}, {way, GemmExtras::bias_and_scales}});
        }
        for (const auto& [way, extras] : ways_and_extras) {
            SCOPED_TRACE(testing::Message() << name_of(way) << (extras == GemmExtras::bias ? "" : ", scaled"));
            const auto expected = multiply_on_gpu(whole, precision, operands, extras, {.tile = 0, .instructions = way});
            const std::size_t row_bytes = whole.columns * element_bytes(precision);
            for (std::size_t tile = 0; tile < tiles_of(way); ++tile) {
                EXPECT_EQ(multiply_on_gpu(whole, precision, operands, extras, {.tile = tile, .instructions = way}),
                          expected);
            }
            for (const std::uint32_t multiprocessors : {1U, 2U, 5U}) {
                EXPECT_EQ(multiply_on_gpu(whole, precision, operands, extras,
                                          {.multiprocessors = multiprocessors, .instructions = way}),
                          expected);
            }
            for (const auto& [first, rows] : {std::pair{0U, 1U}, {1U, 1U}, {63U, 2U}, {129U, 65U}, {1U, 299U}}) {
                GemmShape part = whole;
                part.rows = rows;
                const auto got = multiply_on_gpu(part, precision, operands, extras, {.instructions = way}, first);
                EXPECT_TRUE(std::equal(got.begin(), got.end(),
                                       expected.begin() + static_cast<std::ptrdiff_t>(first * row_bytes)))
                    << rows << " rows from " << first;
            }
        }
    }
}

/// More tiles than blocks, which go on with others, and steps fewer and more than stages.
TEST_F(GemmOnGpu, MultipliesManyTilesAsFew) {
    constexpr std::uint32_t rows = 700;
    constexpr std::uint32_t few = 264;
    constexpr std::uint32_t repeats = 40;
    for (const std::uint32_t depth : {8U, 40U, 200U}) {
        const GemmOperands operands(Precision::bf16, rows, few, depth, 11);
        const std::vector<std::byte> b = operands.on_device[1].content();
        std::vector<std::byte> all;
        for (std::uint32_t i = 0; i < repeats; ++i) {
            all.insert(all.end(), b.begin(), b.end());
        }
        const DeviceMemory wide{std::span<const std::byte>(all)};
        const DeviceMemory out(std::size_t{rows} * few * repeats * 2);
        for (const MatrixInstructions way : ways()) {
            for (std::size_t tile = 0; tile < tiles_of(way); ++tile) {
                const auto expected = multiply_on_gpu({rows, few, depth}, Precision::bf16, operands, GemmExtras::none,
                                                      {.instructions = way});

                Gemm({rows, few * repeats, depth}, Precision::bf16,
                     {operands.on_device[0].as(), wide.as(), nullptr, nullptr, out.as()},
                     {.tile = tile, .instructions = way})
                    .enqueue(nullptr);

                const std::vector<std::byte> got = out.content();
                bool same = true;
                for (std::size_t i = 0; i < std::size_t{rows} * repeats; ++i) {
                    constexpr std::size_t bytes = few * 2;
                    same = same && std::equal(got.begin() + static_cast<std::ptrdiff_t>(i * bytes),
                                              got.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes),
                                              expected.begin() + static_cast<std::ptrdiff_t>(i / repeats * bytes));
                }
                EXPECT_TRUE(same) << name_of(way) << ", tile " << tile << ", " << depth << " deep";
            }
        }
    }
}

TEST_F(GemmOnGpu, MultipliesValuesByTheirGates) {
    if (gpu().instructions() != MatrixInstructions::wgmma) {
        GTEST_SKIP() << "a GPU without wgmma";
    }
    const GemmShape shapes[] = {{1, 16, 8, Activation::silu, true},
                                {33, 80, 64, Activation::gelu_erf, true},
                                {129, 528, 200, Activation::silu, true},
                                {300, 272, 72, Activation::gelu_tanh, true}};
    std::uint32_t seed = 1;
    for (const GemmShape& shape : shapes) {
        for (const Precision precision : of_two_bytes) {
            const GemmOperands operands(precision, shape.rows, shape.columns, shape.depth, seed += 10);
            for (const GemmExtras extras : {GemmExtras::none, GemmExtras::bias_and_scales}) {
                const auto sums = plain_product({shape.rows, shape.columns, shape.depth}, operands, extras);
                std::vector<double> expected(sums.size() / 2);
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    const std::size_t gate = i / gate_columns * 2 * gate_columns + i % gate_columns;
                    expected[i] = plain_activation(sums[gate], shape.activation) * sums[gate + gate_columns];
                }
                const auto got = decode(precision, multiply_on_gpu(shape, precision, operands, extras, {}));

                EXPECT_LT(relative_error(got, expected), tolerance(precision))
                    << shape.rows << " x " << shape.columns << " x " << shape.depth;
            }
        }
    }
    const GemmOperands operands(Precision::bf16, 8, 24, 8, 1);
    EXPECT_THROW(multiply_on_gpu({8, 24, 8, Activation::silu, true}, Precision::bf16, operands, GemmExtras::none, {}),
                 ContractViolation);
    EXPECT_THROW(multiply_on_gpu({8, 16, 8, Activation::silu, true}, Precision::bf16, operands, GemmExtras::none,
                                 {.instructions = MatrixInstructions::mma}),
                 ContractViolation);
}

TEST_F(GemmOnGpu, LeavesNoNumberOfARowWithOneThatIsNone) {
    constexpr std::size_t row_of_nan = 5;
    constexpr std::uint16_t nan = 0x7FFF;  // in bf16 and in fp16
    for (const Activation activation : {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf}) {
        const GemmShape shape{130, 72, 64, activation};
        for (const Precision precision : of_two_bytes) {
            const GemmOperands operands(precision, shape.rows, shape.columns, shape.depth, 3);
            check_cuda(cudaMemcpy(operands.on_device[0].as<std::uint16_t>() + row_of_nan * shape.depth + 3, &nan,
                                  sizeof nan, cudaMemcpyHostToDevice),
                       "cudaMemcpy");
            for (const MatrixInstructions way : ways()) {
                for (std::size_t tile = 0; tile < tiles_of(way); ++tile) {
                    SCOPED_TRACE(testing::Message() << name_of(way) << ", tile " << tile);

                    const std::vector<float> got =
                        decode(precision, multiply_on_gpu(shape, precision, operands, GemmExtras::bias,
                                                          {.tile = tile, .instructions = way}));

                    for (std::size_t i = 0; i < got.size(); ++i) {
                        ASSERT_EQ(std::isnan(got[i]), i / shape.columns == row_of_nan) << i;
                    }
                }
            }
        }
    }
}

TEST_F(GemmOnGpu, AddsToItsOwnResultInPlace) {
    constexpr GemmShape shape{200, 136, 64};
    const GemmOperands operands(Precision::bf16, shape.rows, shape.columns, shape.depth, 3);
    const std::vector<std::byte> residual = operands.on_device[3].content();
    for (const MatrixInstructions way : ways()) {
        const auto expected =
            multiply_on_gpu(shape, Precision::bf16, operands, GemmExtras::bias_and_residual, {.instructions = way});
        const DeviceMemory both{std::span<const std::byte>(residual)};

        const Gemm product(shape, Precision::bf16,
                           {operands.on_device[0].as(), operands.on_device[1].as(), operands.on_device[2].as<float>(),
                            both.as(), both.as()},
                           {.instructions = way});
        product.enqueue(nullptr);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

        EXPECT_EQ(both.content(), expected) << name_of(way);
    }
}

TEST_F(GemmOnGpu, ComputesAChainOfProducts) {
    constexpr GemmShape shape{256, 256, 256};
    const GemmOperands operands(Precision::bf16, shape.rows, shape.columns, shape.depth, 5);
    const auto chain = [&](MatrixInstructions way, bool chained) {
        const DeviceMemory middle(std::size_t{shape.rows} * shape.columns * 2);
        const DeviceMemory out(std::size_t{shape.rows} * shape.columns * 2);
        const Gemm first(shape, Precision::bf16,
                         {operands.on_device[0].as(), operands.on_device[1].as(), nullptr, nullptr, middle.as()},
                         {.chained = chained, .instructions = way});
        const Gemm second(shape, Precision::bf16, {middle.as(), operands.on_device[1].as(), nullptr, nullptr, out.as()},
                          {.chained = chained, .instructions = way});
        for (int i = 0; i < 10; ++i) {
            first.enqueue(nullptr);
            second.enqueue(nullptr);
        }
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        return out.content();
    };

    for (const MatrixInstructions way : ways()) {
        EXPECT_EQ(chain(way, true), chain(way, false)) << name_of(way);
    }
}

/// Of the numbers of active rows that its range has, and of no others.
TEST_F(GemmOnGpu, MultipliesActiveRowsOnly) {
    constexpr GemmShape shape{600, 264, 136};
    const GemmOperands operands(Precision::bf16, shape.rows, shape.columns, shape.depth, 9);
    const std::size_t row_bytes = shape.columns * element_bytes(Precision::bf16);
    for (const MatrixInstructions way : ways()) {
        const auto expected =
            multiply_on_gpu(shape, Precision::bf16, operands, GemmExtras::bias, {.instructions = way});
        for (std::size_t tile = 0; tile < tiles_of(way); ++tile) {
            for (const std::uint32_t active : {0U, 1U, 255U, 300U, 301U, 600U, 1000U}) {
                SCOPED_TRACE(testing::Message() << active << " rows, " << name_of(way) << ", tile " << tile);
                const DeviceMemory count(std::as_bytes(std::span(&active, 1)));
                const DeviceMemory out(expected.size());
                const GemmMemory memory{.a = operands.on_device[0].as(),
                                        .b = operands.on_device[1].as(),
                                        .bias = operands.on_device[2].as<float>(),
                                        .residual = nullptr,
                                        .out = out.as(),
                                        .active = count.as<std::uint32_t>()};
                const Gemm few(shape, Precision::bf16, memory, {.tile = tile, .instructions = way});

                few.enqueue(nullptr);

                const std::size_t rows = std::min(active, shape.rows);
                const std::vector<std::byte> got = out.content();
                EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(rows * row_bytes),
                                       expected.begin()));
                if (rows == 0) {
                    EXPECT_EQ(got, std::vector(got.size(), std::byte{0xff}));
                }
            }
        }
    }
}

TEST_F(GemmOnGpu, DoesNothingForNoRows) {
    for (const MatrixInstructions way : ways()) {
        const DeviceMemory memory(64);
        const Gemm product({0, 8, 8}, Precision::bf16, {memory.as(), memory.as(), nullptr, nullptr, memory.as()},
                           {.instructions = way});

        product.enqueue(nullptr);

        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        EXPECT_EQ(memory.content(), std::vector(64, std::byte{0xff}));
    }
}

TEST_F(GemmOnGpu, TakesTheFastestInstructionsThatItHas) {
    const DeviceMemory memory(4096);
    const GemmMemory any{memory.as(), memory.as(), nullptr, nullptr, memory.as()};
    const GemmShape shape{8192, 8192, 8192};

    const std::size_t chosen = Gemm({0, 8192, 8192}, Precision::bf16, any).tile_number();
    const Gemm by_mma({0, 8192, 8192}, Precision::bf16, any, {.instructions = MatrixInstructions::mma});

    const bool wgmma = gpu().instructions() == MatrixInstructions::wgmma;
    EXPECT_EQ(Gemm({0, 8192, 8192}, Precision::bf16, any).tile(), wgmma ? gemm_tiles[chosen] : mma_tiles[chosen]);
    EXPECT_EQ(by_mma.tile(), mma_tiles[by_mma.tile_number()]);
    EXPECT_EQ(by_mma.path(), "mma.sync 128x256");
    EXPECT_EQ(Gemm({0, 8192, 8192}, Precision::bf16, any).path(),
              wgmma ? "wgmma " + describe(gemm_tiles[chosen]) : by_mma.path());
    EXPECT_THROW(Gemm(shape, Precision::bf16, any, {.tile = mma_tiles.size(), .instructions = MatrixInstructions::mma}),
                 ContractViolation);
}

}  // namespace
}  // namespace sluice

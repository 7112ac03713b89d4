#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/gemm/gemm.hpp"
#include "tests/kernels/cuda/gemm_operands.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

class UnalignedGemmOnGpu : public OnGpu {};

/// Values of two bytes that begin so many values behind an aligned address. All around them are NaN, or nothing.
class CrookedMemory {
public:
    CrookedMemory(std::span<const std::byte> content, std::size_t first_value, bool nothing_behind)
        : before_(guard + 2 * first_value),
          bytes_(content.size()),
          all_(before_ + bytes_ + (nothing_behind ? 0 : guard)) {
        check_cuda(cudaMemcpy(begin(), content.data(), bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    /// That nobody has written.
    CrookedMemory(std::size_t bytes, std::size_t first_value)
        : before_(guard + 2 * first_value), bytes_(bytes), all_(before_ + bytes + guard) {}

    [[nodiscard]] std::byte* begin() const { return all_.as<std::byte>() + before_; }
    [[nodiscard]] std::vector<std::byte> content() const {
        const std::vector<std::byte> all = all_.content();
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(before_);
        return {first, first + static_cast<std::ptrdiff_t>(bytes_)};
    }
    [[nodiscard]] bool untouched_around() const {
        const std::vector<std::byte> all = all_.content();
        const auto untouched = [](std::byte b) { return b == std::byte{0xff}; };
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(before_);
        return std::all_of(all.begin(), first, untouched) &&
               std::all_of(first + static_cast<std::ptrdiff_t>(bytes_), all.end(), untouched);
    }

private:
    static constexpr std::size_t guard = 512;

    std::size_t before_;
    std::size_t bytes_;
    DeviceMemory all_;
};

/// Where operands begin, in values behind an aligned address.
struct Beginnings {
    std::size_t a = 0;
    std::size_t b = 0;
    std::size_t bias = 0;
    std::size_t residual = 0;
    std::size_t out = 0;
};

/// The bytes of the product; around them nothing was written.
std::vector<std::byte> multiply_crooked(const GemmShape& shape, Precision precision, const GemmOperands& operands,
                                        GemmExtras extras, const Beginnings& at, const GemmOptions& options = {},
                                        std::uint32_t first_row = 0) {
    const bool nothing_behind = shape.rows % 2 == 0;  // then compute-sanitizer sees what is read there
    const std::vector<std::byte> values[] = {operands.on_device[0].content(), operands.on_device[1].content(),
                                             operands.on_device[3].content()};
    const CrookedMemory a(values[0], at.a, nothing_behind);
    const CrookedMemory b(values[1], at.b, nothing_behind);
    const CrookedMemory residual(values[2], at.residual, nothing_behind);
    const CrookedMemory bias(operands.on_device[2].content(), 2 * at.bias, nothing_behind);
    const CrookedMemory out(std::size_t{shape.rows} * shape.columns * 2, at.out);
    const Gemm product(
        shape, precision,
        {.a = a.begin() + std::size_t{first_row} * shape.depth * 2,
         .b = b.begin(),
         .bias = extras == GemmExtras::none ? nullptr : reinterpret_cast<const float*>(bias.begin()),
         .residual = extras == GemmExtras::bias_and_residual ? residual.begin() : nullptr,
         .out = out.begin(),
         .row_scales = extras == GemmExtras::bias_and_scales ? operands.on_device[4].as<float>() + first_row : nullptr},
        options);
    EXPECT_THAT(product.path(), testing::HasSubstr("unaligned"));
    product.enqueue(nullptr);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    EXPECT_TRUE(out.untouched_around());
    return out.content();
}

GemmOptions in_tile(std::size_t tile) {
    return {.tile = tile};
}

TEST_F(UnalignedGemmOnGpu, EqualsAPlainProductAtAnySizeFromAnyAddress) {
    const GemmShape shapes[] = {{1, 1, 1},
                                {2, 3, 7},
                                {1, 8, 8},
                                {3, 2, 63, Activation::relu},
                                {7, 9, 8, Activation::gelu_tanh},
                                {8, 8, 1021},
                                {9, 1, 65, Activation::gelu_erf},
                                {63, 127, 129},
                                {64, 64, 64, Activation::relu},
                                {65, 63, 127, Activation::gelu_tanh},
                                {127, 1021, 3},
                                {129, 65, 1021},
                                {1021, 1, 7},
                                {1021, 129, 9, Activation::gelu_erf},
                                {2, 1021, 127}};
    std::uint32_t number = 0;
    for (const GemmShape& shape : shapes) {
        for (const GemmExtras extras :
             {GemmExtras::none, GemmExtras::bias, GemmExtras::bias_and_residual, GemmExtras::bias_and_scales}) {
            const Precision precision = ++number % 2 == 0 ? Precision::bf16 : Precision::fp16;
            const GemmOperands operands(precision, shape.rows, shape.columns, shape.depth, 10 * number);
            const auto expected = plain_product(shape, operands, extras);
            const Beginnings at{.a = 1 + number % 7,  // so that aligned sizes are unaligned, too
                                .b = number % 8,
                                .bias = number % 3,
                                .residual = number % 5,
                                .out = number / 2 % 8};
            for (std::size_t tile = 0; tile < unaligned_tiles.size(); ++tile) {
                SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << " x " << shape.depth
                                                << ", tile " << tile << ", a from value " << at.a);

                const auto got = multiply_crooked(shape, precision, operands, extras, at, in_tile(tile));

                EXPECT_LT(relative_error(decode(precision, got), expected), tolerance(precision));
            }
        }
    }
}

/// `values`, rows of `columns`, with zeros up to `to_columns` and so many rows.
std::vector<std::byte> padded_rows(std::span<const std::byte> values, std::size_t columns, std::size_t to_columns,
                                   std::size_t to_rows) {
    std::vector<std::byte> result(to_rows * to_columns * 2);
    for (std::size_t row = 0; row < values.size() / (2 * columns); ++row) {
        std::ranges::copy(values.subspan(row * columns * 2, columns * 2),
                          result.begin() + static_cast<std::ptrdiff_t>(row * to_columns * 2));
    }
    return result;
}

TEST_F(UnalignedGemmOnGpu, GivesTheBitsOfPaddedOperandsInEveryTileForAnyRows) {
    constexpr GemmShape odd{131, 121, 1021};
    constexpr GemmShape even{131, 128, 1024};
    for (const Precision precision : {Precision::bf16, Precision::fp16}) {
        const GemmOperands operands(precision, odd.rows, odd.columns, odd.depth, 21);
        const DeviceMemory a(padded_rows(operands.on_device[0].content(), odd.depth, even.depth, odd.rows));
        const DeviceMemory b(padded_rows(operands.on_device[1].content(), odd.depth, even.depth, even.columns));
        const DeviceMemory out(std::size_t{even.rows} * even.columns * 2);
        Gemm(even, precision, {a.as(), b.as(), nullptr, nullptr, out.as()}, {.instructions = MatrixInstructions::mma})
            .enqueue(nullptr);
        const std::vector<std::byte> all = out.content();
        std::vector<std::byte> expected;
        for (std::size_t row = 0; row < odd.rows; ++row) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(row * even.columns * 2);
            expected.insert(expected.end(), first, first + odd.columns * 2);
        }

        for (std::size_t tile = 0; tile < unaligned_tiles.size(); ++tile) {
            EXPECT_EQ(multiply_crooked(odd, precision, operands, GemmExtras::none, {.a = 3, .out = 1}, in_tile(tile)),
                      expected);
        }
        for (const auto& [first, rows] : {std::pair{0U, 1U}, {1U, 1U}, {63U, 2U}, {2U, 129U}}) {
            GemmShape part = odd;
            part.rows = rows;
            const auto got = multiply_crooked(part, precision, operands, GemmExtras::none, {}, {}, first);
            EXPECT_TRUE(
                std::ranges::equal(got, std::span(expected).subspan(std::size_t{first} * odd.columns * 2, got.size())))
                << rows << " rows from " << first;
        }
    }
}

TEST_F(UnalignedGemmOnGpu, MultipliesManyTilesOnFewMultiprocessors) {
    constexpr GemmShape shape{301, 517, 37};
    const GemmOperands operands(Precision::bf16, shape.rows, shape.columns, shape.depth, 31);
    const auto expected = multiply_crooked(shape, Precision::bf16, operands, GemmExtras::bias, {});

    for (std::size_t tile = 0; tile < unaligned_tiles.size(); ++tile) {
        EXPECT_EQ(multiply_crooked(shape, Precision::bf16, operands, GemmExtras::bias, {},
                                   {.tile = tile, .multiprocessors = 1}),
                  expected);
    }
}

TEST_F(UnalignedGemmOnGpu, AddsToItsOwnResultInPlaceAlsoInAChain) {
    constexpr GemmShape shape{67, 67, 67};
    const GemmOperands operands(Precision::bf16, shape.rows, shape.columns, shape.depth, 41);
    const auto expected = multiply_crooked(shape, Precision::bf16, operands, GemmExtras::bias_and_residual, {});
    const auto second = [&](bool chained) {
        const CrookedMemory both(operands.on_device[3].content(), 1, false);
        const DeviceMemory out(std::size_t{shape.rows} * shape.columns * 2);
        const Gemm first(shape, Precision::bf16,
                         {operands.on_device[0].as(), operands.on_device[1].as(), operands.on_device[2].as<float>(),
                          both.begin(), both.begin()},
                         {.chained = chained});
        const Gemm then(shape, Precision::bf16, {both.begin(), operands.on_device[1].as(), nullptr, nullptr, out.as()},
                        {.chained = chained});
        first.enqueue(nullptr);
        then.enqueue(nullptr);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        EXPECT_EQ(both.content(), expected);
        return out.content();
    };

    EXPECT_EQ(second(true), second(false));
}

TEST_F(UnalignedGemmOnGpu, MultipliesActiveRowsOnly) {
    constexpr GemmShape shape{150, 67, 21};
    const GemmOperands operands(Precision::fp16, shape.rows, shape.columns, shape.depth, 51);
    const auto expected = multiply_crooked(shape, Precision::fp16, operands, GemmExtras::bias, {});
    for (std::size_t tile = 0; tile < unaligned_tiles.size(); ++tile) {
        for (const std::uint32_t active : {0U, 1U, 65U, 130U, 131U, 150U, 1000U}) {
            SCOPED_TRACE(testing::Message() << active << " rows, tile " << tile);
            const DeviceMemory count(std::as_bytes(std::span(&active, 1)));
            const DeviceMemory out(expected.size());
            const Gemm few(shape, Precision::fp16,
                           {.a = operands.on_device[0].as(),
                            .b = operands.on_device[1].as(),
                            .bias = operands.on_device[2].as<float>(),
                            .residual = nullptr,
                            .out = out.as(),
                            .active = count.as<std::uint32_t>()},
                           {.tile = tile});

            few.enqueue(nullptr);

            const std::size_t bytes = std::size_t{std::min(active, shape.rows)} * shape.columns * 2;
            const std::vector<std::byte> got = out.content();
            EXPECT_TRUE(std::ranges::equal(std::span(got).first(bytes), std::span(expected).first(bytes)));
            EXPECT_TRUE(
                std::ranges::all_of(std::span(got).subspan(bytes), [](std::byte b) { return b == std::byte{0xff}; }));
        }
    }
}

TEST_F(UnalignedGemmOnGpu, IsTakenForWhatTheCopyEngineCannotMoveAndForNothingElse) {
    const DeviceMemory memory(4096);
    const GemmMemory good{memory.as(), memory.as(), nullptr, nullptr, memory.as()};
    const auto path = [&](const GemmShape& shape, const GemmMemory& of) {
        return Gemm(shape, Precision::bf16, of).path();
    };
    GemmMemory crooked = good;
    crooked.a = memory.as<std::byte>() + 8;
    GemmMemory torn = good;
    torn.out = memory.as<std::byte>() + 1;

    EXPECT_THAT(path({8, 8, 8}, good), testing::Not(testing::HasSubstr("unaligned")));
    EXPECT_EQ(path({8, 12, 8}, good), "mma.sync 64x64, unaligned");
    EXPECT_EQ(path({8, 8, 9}, good), "mma.sync 64x64, unaligned");
    EXPECT_EQ(path({8, 8, 8}, crooked), "mma.sync 64x64, unaligned");
    EXPECT_EQ(path({0, 8, 7}, good), "mma.sync 128x128, unaligned");
    EXPECT_THROW(Gemm({8, 8, 8}, Precision::tf32, good), ContractViolation);
    EXPECT_THROW(Gemm({8, 8, 8}, Precision::bf16, torn), ContractViolation);
    EXPECT_THROW(Gemm({8, 0, 8}, Precision::bf16, good), ContractViolation);
    EXPECT_THROW(Gemm({8, 8, 0}, Precision::bf16, good), ContractViolation);
}

TEST(UnalignedTileChoice, TakesSmallTilesWhereLargeOnesLeaveMultiprocessorsIdle) {
    constexpr std::uint32_t multiprocessors = 132;

    EXPECT_EQ(unaligned_tiles[choose_unaligned_tile(4095, 4095, 4095, multiprocessors)].rows, 128U);
    EXPECT_EQ(unaligned_tiles[choose_unaligned_tile(1021, 1021, 1021, multiprocessors)].rows, 64U);
    EXPECT_EQ(unaligned_tiles[choose_unaligned_tile(1021, 1, 7, multiprocessors)].rows, 64U);
}

}  // namespace
}  // namespace sluice

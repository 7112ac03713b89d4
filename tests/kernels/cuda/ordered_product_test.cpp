#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/ordered/product.hpp"
#include "kernels/host/elementwise.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

class OrderedProductOnGpu : public OnGpu {};

/// A product's operands; rows of `in` repeat.
struct OrderedOperands {
    static constexpr std::uint32_t rows = 33;

    OrderedOperands(std::uint32_t columns_, std::uint32_t depth_)
        : columns(columns_),
          depth(depth_),
          in(random_values(std::size_t{rows} * depth, 1, depth)),
          weights(random_values(std::size_t{depth} * columns, 1 / std::sqrt(static_cast<float>(depth)), columns)),
          bias(random_values(columns, 0.5F, 3)) {}

    /// (rows, columns)
    [[nodiscard]] std::vector<float> in_order() const {
        constexpr std::uint32_t chain = 512;
        std::vector<float> result(std::size_t{rows} * columns);
        for (std::uint32_t m = 0; m < rows; ++m) {
            for (std::uint32_t n = 0; n < columns; ++n) {
                float total = bias[n];
                for (std::uint32_t first = 0; first < depth; first += chain) {
                    float sum = 0;
                    for (std::uint32_t k = first; k < std::min(first + chain, depth); ++k) {
                        sum = std::fma(in[m * depth + k], weights[k * columns + n], sum);
                    }
                    total += sum;
                }
                result[m * columns + n] = total;
            }
        }
        return result;
    }

    std::uint32_t columns;
    std::uint32_t depth;
    std::vector<float> in;
    std::vector<float> weights;
    std::vector<float> bias;
};

std::span<const std::byte> bytes_of_floats(const std::vector<float>& values) {
    return std::as_bytes(std::span(values));
}

struct OrderedCase {
    std::uint32_t rows;
    ordered::Tiles tiles = ordered::Tiles::large;
    bool gelu = false;
    bool adds = false;
};

constexpr OrderedCase ordered_cases[] = {
    {.rows = 130},
    {.rows = 130, .gelu = true},
    {.rows = 130, .adds = true},
    {.rows = 37, .tiles = ordered::Tiles::by_rows},
    {.rows = 128, .tiles = ordered::Tiles::by_rows},
    {.rows = 129, .tiles = ordered::Tiles::by_rows},
    {.rows = 512, .tiles = ordered::Tiles::by_rows},
    {.rows = 513, .tiles = ordered::Tiles::by_rows},
    {.rows = 37, .tiles = ordered::Tiles::by_rows, .gelu = true},
    {.rows = 200, .tiles = ordered::Tiles::by_rows, .gelu = true},
    {.rows = 513, .tiles = ordered::Tiles::by_rows, .gelu = true},
    {.rows = 37, .tiles = ordered::Tiles::by_rows, .adds = true},
    {.rows = 200, .tiles = ordered::Tiles::by_rows, .adds = true},
    {.rows = 513, .tiles = ordered::Tiles::by_rows, .adds = true},
};

TEST_F(OrderedProductOnGpu, AddsUpAsTheHostDoes) {
    constexpr std::uint32_t most_rows = 640;
    for (const std::uint32_t columns : {128U, 384U}) {
        for (const std::uint32_t depth : {16U, 528U, 1040U, 3600U}) {
            const OrderedOperands operands(columns, depth);
            const std::vector<float> product = operands.in_order();
            const std::vector<float> before = random_values(std::size_t{most_rows} * columns, 1, 4);
            DeviceMemory in(std::size_t{most_rows} * depth * sizeof(float));
            in.set(bytes_of_floats(operands.in));
            const DeviceMemory weights(bytes_of_floats(operands.weights));
            const DeviceMemory bias(bytes_of_floats(operands.bias));
            for (const OrderedCase& one : ordered_cases) {
                const DeviceMemory rows(std::as_bytes(std::span(&one.rows, 1)));
                const DeviceMemory out(before.size() * sizeof(float));
                const DeviceMemory sums(bytes_of_floats(before));

                ordered::enqueue_product({.in = in.as<float>(),
                                          .weights = weights.as<float>(),
                                          .bias = bias.as<float>(),
                                          .out = out.as<float>(),
                                          .most_rows = most_rows,
                                          .columns = columns,
                                          .depth = depth,
                                          .rows = rows.as<std::uint32_t>(),
                                          .tiles = one.tiles,
                                          .gelu = one.gelu,
                                          .sums = one.adds ? sums.as<float>() : nullptr},
                                         nullptr);

                std::vector<float> expected(std::size_t{one.rows} * columns);
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    expected[i] = product[i % product.size()] + (one.adds ? before[i] : 0);
                }
                if (one.gelu) {
                    gelu_all(expected.size(), expected.data());
                }
                std::vector<float> got = decode(Precision::fp32, (one.adds ? sums : out).content());
                got.resize(expected.size());
                EXPECT_TRUE(got == expected) << one.rows << " rows, " << columns << " columns, " << depth << " deep";
            }
        }
    }
}

}  // namespace
}  // namespace sluice

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/product/float_product.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using test::bytes_in;
using test::DecoderPiecesOnGpu;
using test::floats_for_product;

TEST_F(DecoderPiecesOnGpu, ProductsAddUpAsPlainLoopsDo) {
    // Of up to 2,048 rows those in tf32 have tiles of their own.
    for (const auto& [precision, rows] : {std::pair{Precision::bf16, 300U},
                                          {Precision::fp16, 300U},
                                          {Precision::tf32, 300U},
                                          {Precision::tf32, 2100U}}) {
        const std::array active{rows - 39};
        const DeviceMemory count(std::as_bytes(std::span(active)));
        for (const std::uint32_t columns : {8U, 257U, 600U}) {
            for (const std::uint32_t depth : {8U, 72U, 520U}) {
                const auto a = rounded(precision, random_values(std::size_t{rows} * depth, 1, depth));
                const auto b = rounded(precision, random_values(std::size_t{columns} * depth,
                                                                1 / std::sqrt(static_cast<float>(depth)), columns));
                const auto bias = random_values(columns + 1, 0.5F, 3);
                const std::uint32_t stride = (columns + 9) / 8 * 8;
                const auto residual = random_values(std::size_t{rows} * stride, 1, 4);
                const DeviceMemory on_device[] = {DeviceMemory(std::span<const std::byte>(encode(precision, a))),
                                                  DeviceMemory(std::span<const std::byte>(encode(precision, b))),
                                                  DeviceMemory(bytes_in(bias)), DeviceMemory(bytes_in(residual))};
                std::vector<std::vector<double>> sums(active[0], std::vector<double>(columns));
                for (std::uint32_t m = 0; m < active[0]; ++m) {
                    for (std::uint32_t n = 0; n < columns; ++n) {
                        for (std::uint32_t k = 0; k < depth; ++k) {
                            sums[m][n] += static_cast<double>(a[m * depth + k]) * static_cast<double>(b[n * depth + k]);
                        }
                    }
                }
                const decoder::FloatProductShape shape{.rows = rows, .columns = columns, .depth = depth};
                for (const MatrixInstructions way : ways()) {
                    const DeviceMemory out(residual.size() * sizeof(float));
                    const DeviceMemory bests(rows * decoder::most_best_tiles(columns) * sizeof(decoder::TileBest));
                    decoder::FloatProductMemory memory{.a = on_device[0].as(),
                                                       .b = on_device[1].as(),
                                                       .bias = on_device[2].as<float>(),
                                                       .residual = on_device[3].as<float>(),
                                                       .out = out.as<float>(),
                                                       .stride = stride,
                                                       .bests = nullptr,
                                                       .active = count.as<std::uint32_t>()};

                    decoder::FloatProduct(shape, precision, memory, way).enqueue(nullptr);
                    memory.bias = nullptr;
                    memory.residual = nullptr;
                    memory.bests = bests.as<decoder::TileBest>();
                    const decoder::FloatProduct of_bests(shape, precision, memory, way);
                    of_bests.enqueue(nullptr);
                    const std::uint32_t tiles = of_bests.best_tiles();
                    const std::uint32_t of_tile_columns = of_bests.tile_columns();

                    SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << name_of(way) << ", " << columns
                                                    << " columns, " << depth << " deep");
                    const std::vector<float> got = floats_in(Precision::fp32, out);
                    const std::vector<std::byte> best_bytes = bests.content();
                    std::vector<float> values;
                    std::vector<double> expected;
                    for (std::uint32_t m = 0; m < active[0]; ++m) {
                        for (std::uint32_t n = 0; n < columns; ++n) {
                            values.push_back(got[std::size_t{m} * stride + n]);
                            expected.push_back(sums[m][n] + static_cast<double>(bias[n]) +
                                               static_cast<double>(residual[std::size_t{m} * stride + n]));
                        }
                        decoder::TileBest best{-std::numeric_limits<float>::infinity(), 0, 0};
                        for (std::uint32_t t = 0; t < tiles; ++t) {
                            decoder::TileBest tile{};
                            std::memcpy(&tile, &best_bytes[(m * tiles + t) * sizeof tile], sizeof tile);
                            ASSERT_EQ(tile.place / of_tile_columns, t) << "row " << m;
                            best = tile.score > best.score ? tile : best;
                            const std::uint32_t end = std::min((t + 1) * of_tile_columns, columns);
                            std::vector<double> of_tile(sums[m].begin() + t * of_tile_columns, sums[m].begin() + end);
                            std::ranges::sort(of_tile, std::greater());
                            EXPECT_NEAR(tile.score, of_tile[0], 1e-4) << "row " << m;
                            if (of_tile.size() == 1) {
                                EXPECT_EQ(tile.second, -std::numeric_limits<float>::infinity());
                            } else {
                                EXPECT_NEAR(tile.second, of_tile[1], 1e-4) << "row " << m;
                            }
                        }
                        ASSERT_LT(best.place, columns);
                        EXPECT_NEAR(sums[m][best.place], *std::ranges::max_element(sums[m]), 1e-4) << "row " << m;
                    }
                    EXPECT_LE(relative_error(values, expected), 1e-5);
                    if (rows != active[0] && way == MatrixInstructions::mma) {  // behind the rows that count
                        EXPECT_TRUE(std::isnan(got[std::size_t{active[0]} * stride]));
                    }
                }
            }
        }
    }
}

/// A score that is no number is told, wherever in a tile it is, and the largest of the others.
TEST_F(DecoderPiecesOnGpu, TheLargestScoresTellOfNonfiniteOnes) {
    constexpr std::uint32_t rows = 200;
    constexpr std::uint32_t columns = 600;
    constexpr std::uint32_t depth = 8;
    const DeviceMemory count(std::as_bytes(std::span(&rows, 1)));
    for (const MatrixInstructions way : ways()) {
        for (const std::uint32_t place : {0U, 63U, 191U, 192U, 255U, 256U, 530U, 599U}) {
            constexpr float huge = 3e38F;  // its square is infinite
            std::vector<float> a(std::size_t{rows} * depth);
            std::vector<float> b(std::size_t{columns} * depth);
            for (std::uint32_t m = 0; m < rows; ++m) {
                a[m * depth] = 1;
            }
            for (std::uint32_t n = 0; n < columns; ++n) {
                b[n * depth] = n == place ? 0.0F : -1.0F - static_cast<float>(n);
            }
            a[131 * depth + 1] = huge;
            b[place * depth + 1] = huge;
            const DeviceMemory of_a(bytes_in(a));
            const DeviceMemory of_b(bytes_in(b));
            const DeviceMemory bests(rows * decoder::most_best_tiles(columns) * sizeof(decoder::TileBest));

            const decoder::FloatProduct product({.rows = rows, .columns = columns, .depth = depth}, Precision::tf32,
                                                {.a = of_a.as(),
                                                 .b = of_b.as(),
                                                 .bias = nullptr,
                                                 .residual = nullptr,
                                                 .out = nullptr,
                                                 .stride = 0,
                                                 .bests = bests.as<decoder::TileBest>(),
                                                 .active = count.as<std::uint32_t>()},
                                                way);
            product.enqueue(nullptr);

            const std::uint32_t tiles = product.best_tiles();
            const std::uint32_t of_tile = product.tile_columns();
            std::vector<decoder::TileBest> got(std::size_t{rows} * tiles);
            std::memcpy(got.data(), bests.content().data(), got.size() * sizeof got[0]);
            for (std::uint32_t m = 0; m < rows; ++m) {
                for (std::uint32_t t = 0; t < tiles; ++t) {
                    const decoder::TileBest& best = got[m * tiles + t];
                    const bool marked = (best.place & decoder::nonfinite_mark) != 0;
                    ASSERT_EQ(marked, m == 131 && t == place / of_tile)
                        << "row " << m << ", tile " << t << ", place " << place;
                    if (!marked) {
                        const std::uint32_t expected = t == place / of_tile ? place : t * of_tile;
                        ASSERT_EQ(best.place, expected) << "row " << m << ", tile " << t;
                    }
                }
            }
        }
    }
}

/// Of 64 columns each, in every row that counts and no other one.
TEST_F(DecoderPiecesOnGpu, SumsOfScoresAreThoseOfPlainLoops) {
    constexpr std::uint32_t rows = 300;
    constexpr std::uint32_t active = 261;
    constexpr std::uint32_t depth = 72;
    constexpr float temperature = 0.7F;
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32}) {
        for (const std::uint32_t columns : {8U, 64U, 65U, 257U, 600U}) {
            std::vector<float> a = rounded(precision, random_values(std::size_t{rows} * depth, 1, depth));
            std::copy_n(a.begin(), depth, a.begin() + std::ptrdiff_t{200} * depth);  // two rows alike
            const auto b = rounded(precision, random_values(std::size_t{columns} * depth, 0.3F, columns));
            const DeviceMemory on_device[] = {DeviceMemory(std::span<const std::byte>(encode(precision, a))),
                                              DeviceMemory(std::span<const std::byte>(encode(precision, b)))};
            const std::uint32_t of_row = decoder::groups_of(columns);
            for (const MatrixInstructions way : ways()) {
                SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << name_of(way) << ", " << columns);

                const std::vector<decoder::ScoreSum> got = test::sums_of_product(
                    {.rows = rows, .columns = columns, .depth = depth, .temperature = temperature}, precision,
                    on_device[0], on_device[1], active, way);

                for (std::uint32_t m = 0; m < active; ++m) {
                    for (std::uint32_t t = 0; t < of_row; ++t) {
                        double sum = 0;  // of e^(score / temperature)
                        double largest = -std::numeric_limits<double>::infinity();
                        for (std::uint32_t n = t * 64; n < std::min(t * 64 + 64, columns); ++n) {
                            double score = 0;
                            for (std::uint32_t k = 0; k < depth; ++k) {
                                score += static_cast<double>(a[m * depth + k]) * static_cast<double>(b[n * depth + k]);
                            }
                            sum += std::exp(score / static_cast<double>(temperature));
                            largest = std::max(largest, score);
                        }
                        const decoder::ScoreSum& one = got[m * of_row + t];
                        ASSERT_NEAR(one.largest, largest, 1e-4) << m << ", " << t;
                        ASSERT_NEAR(std::log(one.sum) + one.largest / temperature, std::log(sum), 2e-4)
                            << m << ", " << t;
                    }
                }
                EXPECT_EQ(std::memcmp(&got[0], &got[std::size_t{200} * of_row], of_row * sizeof got[0]), 0);
                EXPECT_TRUE(std::isnan(got[std::size_t{active} * of_row].sum));  // memory is filled with NaN
            }
        }
    }
}

/// Also where they are of no other use: at an infinite temperature, beside scores.
TEST_F(DecoderPiecesOnGpu, SumsOfScoresTellOfNonfiniteOnes) {
    constexpr std::uint32_t rows = 200;
    constexpr std::uint32_t columns = 600;
    constexpr std::uint32_t depth = 8;
    constexpr float huge = 3e38F;  // its square is infinite
    const DeviceMemory scores(std::size_t{rows} * columns * sizeof(float));
    for (const MatrixInstructions way : ways()) {
        for (const std::uint32_t place : {0U, 63U, 64U, 255U, 530U, 599U}) {
            std::vector<float> a(std::size_t{rows} * depth);
            std::vector<float> b(std::size_t{columns} * depth);
            a[131 * depth + 1] = huge;
            b[place * depth + 1] = huge;
            const DeviceMemory of_a(bytes_in(a));
            const DeviceMemory of_b(bytes_in(b));
            const std::uint32_t of_row = decoder::groups_of(columns);

            for (float* const out : {static_cast<float*>(nullptr), scores.as<float>()}) {
                const std::vector<decoder::ScoreSum> got =
                    test::sums_of_product({.rows = rows,
                                           .columns = columns,
                                           .depth = depth,
                                           .temperature = out == nullptr ? 1 : std::numeric_limits<float>::infinity()},
                                          Precision::tf32, of_a, of_b, rows, way, out);

                for (std::uint32_t i = 0; i < got.size(); ++i) {
                    ASSERT_EQ(std::isnan(got[i].sum), i == 131 * of_row + place / 64) << i << ", place " << place;
                }
            }
        }
    }
}

/// As products leave them that leave nothing else; and without sums that are of use, at an infinite temperature.
TEST_F(DecoderPiecesOnGpu, ScoresAndTheirSumsAreLeftTogether) {
    constexpr std::uint32_t rows = 300;
    constexpr std::uint32_t active = 261;
    constexpr std::uint32_t depth = 72;
    for (const Precision precision :
         {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        for (const std::uint32_t columns : {8U, 64U, 65U, 257U, 600U}) {
            const std::vector<float> a = random_values(std::size_t{rows} * depth, 1, depth);
            const std::vector<float> b = random_values(std::size_t{columns} * depth, 0.3F, columns);
            const DeviceMemory of_a(std::span<const std::byte>(test::encode_rows(precision, a, depth)));
            const DeviceMemory of_b(std::span<const std::byte>(test::encode_weights(precision, b, depth)));
            const DeviceMemory count(std::as_bytes(std::span(&active, 1)));
            const std::uint32_t stride = (columns + 1) / 2 * 2;
            for (const MatrixInstructions way : ways()) {
                if (has_parts(precision) && way == MatrixInstructions::mma) {
                    continue;  // which it does not have
                }
                SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << name_of(way) << ", " << columns);
                const auto product = [&](bool wants_scores, bool wants_sums, float temperature) {
                    auto out = std::make_unique<DeviceMemory>(std::size_t{rows} * stride * sizeof(float));
                    auto sums = std::make_unique<DeviceMemory>(std::size_t{rows} * decoder::groups_of(columns) *
                                                               sizeof(decoder::ScoreSum));
                    decoder::FloatProduct(
                        {.rows = rows, .columns = columns, .depth = depth, .temperature = temperature}, precision,
                        {.a = of_a.as(),
                         .b = of_b.as(),
                         .bias = nullptr,
                         .residual = nullptr,
                         .out = wants_scores ? out->as<float>() : nullptr,
                         .stride = stride,
                         .score_sums = wants_sums ? sums->as<decoder::ScoreSum>() : nullptr,
                         .active = count.as<std::uint32_t>()},
                        way)
                        .enqueue(nullptr);
                    return std::pair(std::move(out), std::move(sums));
                };

                const auto both = product(true, true, 0.7F);

                const std::vector<float> got = floats_in(Precision::fp32, *both.first);
                const std::vector<float> expected = floats_in(Precision::fp32, *product(true, false, 1).first);
                for (std::uint32_t m = 0; m < active; ++m) {
                    ASSERT_EQ(std::memcmp(&got[m * stride], &expected[m * stride], columns * sizeof(float)), 0) << m;
                }
                EXPECT_TRUE(std::isnan(got[std::size_t{active} * stride]));  // memory is filled with NaN
                EXPECT_EQ(both.second->content(), product(false, true, 0.7F).second->content());

                const auto of_largest = product(true, true, std::numeric_limits<float>::infinity());

                const std::vector<float> again = floats_in(Precision::fp32, *of_largest.first);
                const std::vector<decoder::ScoreSum> largest = test::sums_in(*of_largest.second);
                const std::vector<decoder::ScoreSum> sums = test::sums_in(*both.second);
                const std::uint32_t of_row = decoder::groups_of(columns);
                for (std::uint32_t m = 0; m < active; ++m) {
                    ASSERT_EQ(std::memcmp(&again[m * stride], &got[m * stride], columns * sizeof(float)), 0) << m;
                    for (std::uint32_t i = m * of_row; i < (m + 1) * of_row; ++i) {
                        ASSERT_EQ(largest[i].largest, sums[i].largest) << i;
                        ASSERT_TRUE(std::isfinite(largest[i].sum)) << i;
                    }
                }
            }
        }
    }
}

/// So many that consumers in ping-pong have several each; steps fewer and more than their stages.
TEST_F(DecoderPiecesOnGpu, ProductsOfManyTilesAreThoseOfFew) {
    constexpr std::uint32_t rows = 300;
    constexpr std::uint32_t few_columns = 600;
    constexpr std::uint32_t many_columns = 26'880;
    const DeviceMemory count(std::as_bytes(std::span(&rows, 1)));
    DeviceMemory bias(many_columns * sizeof(float));
    bias.set(bytes_in(random_values(few_columns, 0.5F, 3)));
    for (const std::uint32_t depth : {8U, 72U, 200U}) {
        const DeviceMemory a(bytes_in(random_values(std::size_t{rows} * depth, 1, depth)));
        DeviceMemory b(std::size_t{many_columns} * depth * sizeof(float));
        b.set(bytes_in(random_values(std::size_t{few_columns} * depth, 1, 7)));
        const auto product = [&](MatrixInstructions way, std::uint32_t columns) {
            const DeviceMemory out(std::size_t{rows} * columns * sizeof(float));
            decoder::FloatProduct({.rows = rows, .columns = columns, .depth = depth}, Precision::tf32,
                                  {.a = a.as(),
                                   .b = b.as(),
                                   .bias = bias.as<float>(),
                                   .residual = nullptr,
                                   .out = out.as<float>(),
                                   .stride = columns,
                                   .bests = nullptr,
                                   .active = count.as<std::uint32_t>()},
                                  way)
                .enqueue(nullptr);
            return floats_in(Precision::fp32, out);
        };

        for (const MatrixInstructions way : ways()) {
            const std::vector<float> few = product(way, few_columns);
            const std::vector<float> many = product(way, many_columns);

            std::uint32_t different = 0;
            for (std::uint32_t m = 0; m < rows; ++m) {
                for (std::uint32_t n = 0; n < many_columns; ++n) {
                    const bool same = many[m * many_columns + n] == few[m * few_columns + n % few_columns];
                    different += same ? 0 : 1;
                }
            }
            EXPECT_EQ(different, 0U) << depth << " deep";
        }
    }
}

}  // namespace
}  // namespace sluice

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <vector>

#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/host/elementwise.hpp"
#include "kernels/rotary.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using decoder::Row;
using test::bytes_in;
using test::DecoderPiecesOnGpu;
using test::floats_for_product;
using test::Pass;

bool is_narrow(Precision precision) {
    return precision == Precision::bf16 || precision == Precision::fp16;
}

TEST_F(DecoderPiecesOnGpu, EmbeddingsAreAddedUpForEachRow) {
    constexpr std::uint32_t vocabulary = 50;  // of a pass's tokens
    constexpr std::uint32_t positions = 200;
    const Pass pass({{0, 16}, {0, 1}, {0, 33}, {16, 1}, {190, 1}});
    for (const Precision precision : test::narrow_precisions) {
        for (const std::uint32_t width : {64U, 320U, 512U, 576U, 1600U}) {
            const std::vector<float> tokens =
                rounded(precision, random_values(std::size_t{vocabulary} * width, 1, width));
            const std::vector<float> places = random_values(std::size_t{positions} * width, 1, width + 1);
            const DeviceMemory of_tokens(std::span<const std::byte>(encode(precision, tokens)));
            const DeviceMemory of_places(bytes_in(places));
            const DeviceMemory sums(pass.rows.size() * width * number_bytes(precision));
            const DeviceMemory row_sums(pass.rows.size() * width / summed_values * sizeof(RowSums));

            decoder::enqueue_embedding(pass.memory(), precision,
                                       {.tokens = of_tokens.as(),
                                        .positions = of_places.as<float>(),
                                        .sums = sums.as(),
                                        .width = width,
                                        .stride = width,
                                        .token_stride = 0,
                                        .position_stride = width,
                                        .row_sums = row_sums.as<RowSums>()},
                                       nullptr);

            std::vector<double> expected;
            std::vector<double> expected_sums(pass.rows.size() * width / summed_values * 2);
            for (const Row& row : pass.rows) {
                for (std::uint32_t i = 0; i < width; ++i) {
                    const double value = static_cast<double>(tokens[row.token * width + i]) +
                                         static_cast<double>(places[row.position * width + i]);
                    double* const of = &expected_sums[expected.size() / summed_values * 2];
                    of[0] += value;
                    of[1] += value * value;
                    expected.push_back(value);
                }
            }
            EXPECT_LE(relative_error(floats_in(precision, sums), expected), tolerance(precision))
                << name_of(precision) << ", " << width;
            EXPECT_LE(relative_error(floats_in(Precision::fp32, row_sums), expected_sums), 1e-6)  // 64 in fp32
                << name_of(precision) << ", " << width;
        }
    }
}

TEST_F(DecoderPiecesOnGpu, HeadsAreTurnedByTheirPositions) {
    constexpr std::uint32_t heads = 5;
    constexpr std::uint32_t behind = 16;  // values of a row that are not turned
    const Pass pass({{0, 16}, {0, 1}, {0, 33}, {16, 1}, {190, 1}});
    for (const Precision precision : every_decoder_precision) {
        const Precision of_values = in_one_part(precision);
        for (const std::uint32_t head_size : {32U, 64U, 128U, is_narrow(precision) ? 96U : 6U}) {
            SCOPED_TRACE(testing::Message() << name_of(precision) << ", heads of " << head_size);
            const DecoderShape shape{.vocabulary = 1,
                                     .positions = 200,
                                     .width = heads * head_size,
                                     .layers = 1,
                                     .heads = heads,
                                     .inner = 1,
                                     .rotary = RotaryPositions{}};
            const std::vector<float> angles = rotary_table(shape);
            const DeviceMemory table(bytes_in(angles));
            const std::uint32_t stride = heads * head_size + behind;
            const std::vector<float> values =
                rounded(of_values, random_values(pass.rows.size() * stride, 1, head_size));
            const DeviceMemory rows(std::span<const std::byte>(encode(of_values, values)));

            decoder::enqueue_rotation(pass.memory(), precision,
                                      {.rows = rows.as(),
                                       .angles = table.as<float>(),
                                       .stride = stride,
                                       .heads = heads,
                                       .head_size = head_size},
                                      nullptr);

            const std::vector<float> got = floats_in(of_values, rows);
            std::vector<float> on_host = values;
            std::vector<double> expected(values.begin(), values.end());
            const std::uint32_t half = head_size / 2;
            for (std::size_t r = 0; r < pass.rows.size(); ++r) {
                for (std::uint32_t head = 0; head < heads; ++head) {
                    for (std::uint32_t i = 0; i < half; ++i) {
                        const std::size_t at = r * stride + head * head_size + i;
                        const std::uint32_t position = pass.rows[r].position;
                        const double angle = position * std::pow(10000.0, -static_cast<double>(i) / half);
                        const auto turned =
                            std::complex<double>(expected[at], expected[at + half]) * std::polar(1.0, angle);
                        expected[at] = turned.real();
                        expected[at + half] = turned.imag();
                        const float* const cosine = &angles[position * head_size + i];
                        on_host[at] = values[at] * cosine[0] - values[at + half] * cosine[half];
                        on_host[at + half] = values[at + half] * cosine[0] + values[at] * cosine[half];
                    }
                }
            }
            EXPECT_LE(relative_error(got, expected), tolerance(of_values));
            if (of_values == Precision::fp32) {
                EXPECT_EQ(std::memcmp(got.data(), on_host.data(), got.size() * sizeof(float)), 0);
            }
        }
    }
}

struct PlainActivation {
    DecoderActivation activation;
    void (*on_host)(std::size_t count, float* x);
    double (*plain)(double x);
};

const PlainActivation activations[] = {
    {DecoderActivation::gelu_tanh, &gelu_all,
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
    {DecoderActivation::gelu_erf, &gelu_erf_all,
     [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }},
    {DecoderActivation::silu, &silu_all, [](double x) { return x / (1 + std::exp(-x)); }},
};

TEST_F(DecoderPiecesOnGpu, InnerValuesAreActivatedAndGated) {
    constexpr std::uint32_t rows = 37;
    constexpr std::uint32_t padding = 8;
    constexpr std::array<std::uint32_t, 1> active{35};
    const DeviceMemory count(std::as_bytes(std::span(active)));
    for (const Precision precision : every_decoder_precision) {
        const Precision of_values = in_one_part(precision);
        for (const std::uint32_t inner : {8U, 264U, is_narrow(precision) ? 1000U : 77U}) {
            for (const PlainActivation& activation : activations) {
                for (const bool gated : {false, true}) {
                    SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << inner << ", activation "
                                                    << static_cast<int>(activation.activation) << ", " << gated);
                    const std::uint32_t from_stride = inner * (gated ? 2 : 1) + padding;
                    const std::uint32_t to_stride = inner % 8 == 0 ? inner : inner + 3;
                    std::vector<float> x = rounded(of_values, random_values(std::size_t{rows} * from_stride, 3, inner));
                    const DeviceMemory from(std::span<const std::byte>(encode(of_values, x)));
                    const DeviceMemory to(std::size_t{rows} * to_stride * number_bytes(precision));

                    decoder::enqueue_inner_activation(precision,
                                                      {.from = from.as(),
                                                       .to = to.as(),
                                                       .inner = inner,
                                                       .from_stride = from_stride,
                                                       .to_stride = to_stride,
                                                       .activation = activation.activation,
                                                       .gated = gated,
                                                       .most_rows = rows,
                                                       .rows = count.as<std::uint32_t>()},
                                                      nullptr);

                    const std::vector<float> all = floats_for_product(precision, to, to_stride);
                    std::vector<float> got;
                    std::vector<float> on_host;
                    std::vector<double> expected;
                    for (std::uint32_t row = 0; row < active[0]; ++row) {
                        for (std::uint32_t i = 0; i < inner; ++i) {
                            const bool beside = gated && is_narrow(precision);  // each gate
                            const std::uint32_t at = beside ? i / 8 * 16 + i % 8 : i;
                            float value = x[row * from_stride + at];
                            const float other = gated ? x[row * from_stride + at + (beside ? 8 : inner)] : 1;
                            expected.push_back(activation.plain(static_cast<double>(value)) *
                                               static_cast<double>(other));
                            activation.on_host(1, &value);
                            on_host.push_back(value * other);
                            got.push_back(all[std::size_t{row} * to_stride + i]);
                        }
                    }
                    EXPECT_LE(relative_error(got, expected), test::tolerance_of_rows(precision));
                    if (precision == Precision::fp32) {
                        EXPECT_EQ(got, on_host);
                    }
                    if (!is_narrow(precision)) {  // behind the rows that count
                        EXPECT_TRUE(std::isnan(all[std::size_t{active[0]} * to_stride]));
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace sluice

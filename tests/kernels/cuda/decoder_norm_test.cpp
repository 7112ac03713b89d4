#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using test::bytes_in;
using test::DecoderPiecesOnGpu;
using test::floats_for_product;

TEST_F(DecoderPiecesOnGpu, RowsHaveScalesOfNormalisation) {
    constexpr std::uint32_t rows = 37;
    constexpr std::array<std::uint32_t, 1> active{35};
    const DeviceMemory count(std::as_bytes(std::span(active)));
    for (const Precision precision : {Precision::bf16, Precision::fp16}) {
        for (const std::uint32_t width : {8U, 768U, 1000U, 1032U, 2056U, 4096U}) {
            const std::vector<float> x = rounded(precision, random_values(std::size_t{rows} * width, 2, width));
            const DeviceMemory from(std::span<const std::byte>(encode(precision, x)));
            for (const bool is_rms : {false, true}) {
                const DeviceMemory to(rows * sizeof(float));

                decoder::enqueue_norm_scales(precision,
                                             {.from = from.as(),
                                              .to = to.as<float>(),
                                              .epsilon = 1e-5F,
                                              .width = width,
                                              .stride = width,
                                              .most_rows = rows,
                                              .rows = count.as<std::uint32_t>(),
                                              .is_rms = is_rms},
                                             nullptr);

                const std::vector<float> got = floats_in(Precision::fp32, to);
                for (std::uint32_t row = 0; row < active[0]; ++row) {
                    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * width);
                    const double mean = is_rms ? 0 : std::accumulate(begin, begin + width, 0.0) / width;
                    double variance = 0;
                    for (std::uint32_t i = 0; i < width; ++i) {
                        variance += std::pow(static_cast<double>(begin[i]) - mean, 2) / width;
                    }
                    const double expected = 1 / std::sqrt(variance + 1e-5);
                    ASSERT_NEAR(got[row], expected, 2e-6 * expected) << width << " wide, row " << row;
                }
                EXPECT_TRUE(std::isnan(got[active[0]]));
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, RowsAreNormalised) {
    constexpr std::uint32_t rms = 1U << 20U;  // on top of a width: by the root of the mean square
    for (const Precision precision :
         {Precision::fp32, Precision::tf32x3, Precision::fp16x2, Precision::tf32, Precision::bf16, Precision::fp16}) {
        const Precision of_values = in_one_part(precision);
        for (const std::uint32_t number :
             {8U, 64U, 768U, 1600U, 4096U, 5120U, 72U + rms, 1024U + rms, 4096U + rms, 4104U + rms}) {
            const bool is_rms = number > rms;
            const std::uint32_t width = number % rms;
            if (decoder::is_narrow(precision) && width > decoder::most_norm_width) {
                continue;
            }
            constexpr std::uint32_t rows = 37;
            constexpr std::array<std::uint32_t, 1> active{35};
            const DeviceMemory count(std::as_bytes(std::span(active)));
            std::vector<float> x = random_values(std::size_t{rows} * width, 2, width);
            x[width / 2] = 300;  // a channel far from the others, as models have them
            x = rounded(of_values, x);
            const auto gamma = random_values(width, 1, 5);
            const auto beta = random_values(width, 1, 6);
            const DeviceMemory from(std::span<const std::byte>(encode(of_values, x)));
            const DeviceMemory to(from.content().size());
            const DeviceMemory of_gamma(bytes_in(gamma));
            const DeviceMemory of_beta(bytes_in(beta));

            decoder::enqueue_norm(precision,
                                  {.from = from.as(),
                                   .to = to.as(),
                                   .gamma = of_gamma.as<float>(),
                                   .beta = of_beta.as<float>(),
                                   .epsilon = 1e-5F,
                                   .width = width,
                                   .stride = width,
                                   .most_rows = rows,
                                   .rows = count.as<std::uint32_t>(),
                                   .is_rms = is_rms},
                                  nullptr);

            std::vector<float> got = floats_for_product(precision, to, width);
            got.resize(std::size_t{active[0]} * width);
            std::vector<double> expected;
            for (std::uint32_t row = 0; row < active[0]; ++row) {
                double mean = 0;
                double variance = 0;
                for (std::uint32_t i = 0; i < width; ++i) {
                    mean += is_rms ? 0 : static_cast<double>(x[row * width + i]) / width;
                }
                for (std::uint32_t i = 0; i < width; ++i) {
                    variance += std::pow(static_cast<double>(x[row * width + i]) - mean, 2) / width;
                }
                for (std::uint32_t i = 0; i < width; ++i) {
                    expected.push_back((static_cast<double>(x[row * width + i]) - mean) / std::sqrt(variance + 1e-5) *
                                           static_cast<double>(gamma[i]) +
                                       static_cast<double>(beta[i]));
                }
            }
            EXPECT_LE(relative_error(got, expected), test::tolerance_of_rows(precision))
                << name_of(precision) << ", " << width << (is_rms ? ", RMS" : "");
        }
    }
}

}  // namespace
}  // namespace sluice

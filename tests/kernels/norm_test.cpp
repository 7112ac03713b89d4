#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/host/max_pool.hpp"
#include "kernels/host/norm.hpp"
#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

std::vector<double> reference(const NormShape& s, std::size_t items, const std::vector<float>& in,
                              const std::vector<float>& gamma, const std::vector<float>& beta) {
    const std::size_t count = std::size_t{s.positions} * s.channels;
    std::vector<double> out;
    for (std::size_t n = 0; n < items; ++n) {
        const float* x = &in[n * count];
        double mean = 0;
        double variance = 0;
        for (std::size_t i = 0; i < count; ++i) {
            mean += x[i] / static_cast<double>(count);
        }
        for (std::size_t i = 0; i < count; ++i) {
            variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(count);
        }
        for (std::size_t q = 0; q < s.positions / s.pool; ++q) {
            for (std::size_t c = 0; c < s.channels; ++c) {
                double best = 0;
                for (std::size_t p = q * s.pool; p < (q + 1) * s.pool; ++p) {
                    const double normal = (x[p * s.channels + c] - mean) / std::sqrt(variance + 1e-5);
                    best = std::max(best, normal * gamma[c * s.positions + p] + beta[c * s.positions + p]);
                }
                out.push_back(best);
            }
        }
    }
    return out;
}

TEST(NormReluPool, MatchesAPlainReference) {
    for (const NormShape shape : {NormShape{1, 64, 1}, NormShape{6, 64, 3}, NormShape{102, 256, 3}}) {
        const std::size_t count = std::size_t{shape.positions} * shape.channels;
        const auto gamma = random_floats(count, 1);
        const auto beta = random_floats(count, 2);
        const auto in = random_floats(3 * count, 3);
        const auto layer = packed_layer(&ConvolutionKernels::norm_relu_pool, shape, gamma, beta);

        const auto out = run_layer_floats(*layer, 3, in, 5);

        EXPECT_LT(relative_error(out, reference(shape, 3, in, gamma, beta)), fp32_tolerance) << shape.positions;
    }
}

/// One item by the kernel's own order of operations, without a fused one: this file is compiled for any x86-64.
std::vector<float> in_order(const NormShape& s, const std::vector<float>& x, const std::vector<float>& gamma,
                            const std::vector<float>& beta) {
    const auto sum_of = [&](auto&& term) {
        double partial[8] = {};
        for (std::size_t i = 0; i < x.size(); ++i) {
            partial[i % 8] += term(static_cast<double>(x[i]));
        }
        double sum = 0;
        for (const double part : partial) {
            sum += part;
        }
        return sum / static_cast<double>(x.size());
    };
    const double mean = sum_of([](double value) { return value; });
    const double variance = sum_of([mean](double value) { return (value - mean) * (value - mean); });
    const auto scale = static_cast<float>(1.0 / std::sqrt(variance + 1e-5));
    std::vector<float> out;
    for (std::size_t q = 0; q < s.positions / s.pool; ++q) {
        for (std::size_t c = 0; c < s.channels; ++c) {
            float best = 0;
            for (std::size_t p = q * s.pool; p < (q + 1) * s.pool; ++p) {
                const float normal = (x[p * s.channels + c] - static_cast<float>(mean)) * scale;
                best = std::max(best, normal * gamma[c * s.positions + p] + beta[c * s.positions + p]);
            }
            out.push_back(best);
        }
    }
    return out;
}

TEST(NormReluPool, GivesTheSameBitsWithAnyInstructions) {
    const NormShape shape{102, 256, 3};
    const std::size_t count = std::size_t{shape.positions} * shape.channels;
    const auto gamma = random_floats(count, 1);
    const auto beta = random_floats(count, 2);
    const auto in = random_floats(count, 3);
    const auto layer = packed_layer(&ConvolutionKernels::norm_relu_pool, shape, gamma, beta);

    EXPECT_EQ(run_layer_floats(*layer, 1, in, 1), in_order(shape, in, gamma, beta));
}

TEST(NormReluPool, KeepsItsDigitsFarFromZero) {
    const NormShape shape{6, 64, 3};
    const auto gamma = random_floats(384, 1);
    const auto beta = random_floats(384, 2);
    auto in = random_floats(384, 3);
    std::for_each(in.begin(), in.end(),
                  [](float& x) { x = x * 4 + 4096; });  // E[x^2] - mean^2 in fp32 keeps nothing here
    const auto layer = packed_layer(&ConvolutionKernels::norm_relu_pool, shape, gamma, beta);

    const auto out = run_layer_floats(*layer, 1, in, 1);

    EXPECT_LT(relative_error(out, reference(shape, 1, in, gamma, beta)), 1e-4);  // the mean itself rounds to 1.2e-4 / 2
}

TEST(NormReluPool, IsFiniteForAConstantItem) {
    const NormShape shape{3, 64, 3};
    const auto layer = packed_layer(&ConvolutionKernels::norm_relu_pool, shape, std::vector<float>(192, 2.0F),
                                    std::vector<float>(192, 0.25F));

    const auto out = run_layer_floats(*layer, 1, std::vector<float>(192, 3.0F), 1);

    EXPECT_EQ(out, std::vector<float>(64, 0.25F));
}

TEST(NormReluPool, LeavesNoNumberOfAnItemWithOneThatIsNone) {
    const NormShape shape{6, 64, 3};
    const std::size_t count = std::size_t{shape.positions} * shape.channels;
    const auto layer =
        packed_layer(&ConvolutionKernels::norm_relu_pool, shape, random_floats(count, 1), random_floats(count, 2));
    auto in = random_floats(3 * count, 3);
    in[count + 7] = std::numeric_limits<float>::quiet_NaN();

    const auto out = run_layer_floats(*layer, 3, in, 5);

    for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(std::isnan(out[i]), i / (count / shape.pool) == 1) << i;
    }
}

/// Its mean is infinite, too. What else is pooled with it does not hide it.
TEST(NormReluPool, LeavesNoNumberWhereAnItemIsInfinite) {
    const NormShape shape{3, 64, 3};
    const auto layer = packed_layer(&ConvolutionKernels::norm_relu_pool, shape, std::vector<float>(192, 1.0F),
                                    std::vector<float>(192));
    for (std::size_t position = 0; position < 3; ++position) {
        std::vector<float> in(192, 1.0F);
        in[position * 64 + 5] = std::numeric_limits<float>::infinity();

        EXPECT_TRUE(std::isnan(run_layer_floats(*layer, 1, in, 1)[5])) << position;
    }
}

/// A variance of sums that cancel may come out below 0.
TEST(NormScale, TakesNoVarianceForLessThanNothing) {
    EXPECT_EQ(norm_scale(1, -1e-3).scale, norm_scale(1, 0).scale);
    EXPECT_NEAR(norm_scale(1, 4).scale, 0.5F, 1e-6F);
}

TEST(MaxPool, IsNoNumberWhereOneIsNone) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t at = 0; at < 3; ++at) {
        float in[6] = {1, 2, 3, 4, 5, 6};  // three positions of two channels
        in[2 * at] = nan;
        float out[2] = {};

        max_pool(in, 1, 3, 2, out);

        EXPECT_TRUE(std::isnan(out[0])) << at;
        EXPECT_EQ(out[1], 6);
    }
}

}  // namespace
}  // namespace sluice

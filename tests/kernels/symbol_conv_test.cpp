#include <algorithm>

#include "core/error.hpp"
#include "tests/kernels/layer_runner.hpp"

namespace sluice {
namespace {

struct Weights {
    std::vector<float> weights, bias, gamma, beta;
};

Weights random_weights(const SymbolConvShape& s) {
    return {random_floats(std::size_t{s.channels} * s.symbols * s.taps, 1), random_floats(s.channels, 2),
            random_floats(std::size_t{s.channels} * s.positions(), 3),
            random_floats(std::size_t{s.channels} * s.positions(), 4)};
}

PackedLayer make_layer(const SymbolConvShape& shape, const Weights& w) {
    return packed_layer(&ConvolutionKernels::symbol_conv_norm_relu_pool, shape, w.weights, w.bias, w.gamma, w.beta);
}

std::vector<std::uint8_t> random_symbols(const SymbolConvShape& s, std::size_t items) {
    std::mt19937 bits(5);
    std::vector<std::uint8_t> symbols(items * s.length);
    std::generate(symbols.begin(), symbols.end(), [&] { return static_cast<std::uint8_t>(bits() % (s.symbols + 1)); });
    return symbols;
}

std::vector<double> reference(const SymbolConvShape& s, std::size_t items, const std::vector<std::uint8_t>& symbols,
                              const Weights& w) {
    std::vector<double> out;
    for (std::size_t n = 0; n < items; ++n) {
        std::vector<double> y(std::size_t{s.positions()} * s.channels);
        double mean = 0;
        double variance = 0;
        for (std::size_t p = 0; p < s.positions(); ++p) {
            for (std::size_t c = 0; c < s.channels; ++c) {
                double& sum = y[p * s.channels + c] = w.bias[c];
                for (std::size_t k = 0; k < s.taps; ++k) {
                    const std::size_t symbol = symbols[n * s.length + p + k];
                    sum += symbol == s.symbols ? 0.0F : w.weights[(c * s.symbols + symbol) * s.taps + k];
                }
                mean += sum;
            }
        }
        mean /= static_cast<double>(y.size());
        for (const double value : y) {
            variance += (value - mean) * (value - mean) / static_cast<double>(y.size());
        }
        for (std::size_t q = 0; q < s.positions() / s.pool; ++q) {
            for (std::size_t c = 0; c < s.channels; ++c) {
                double best = 0;
                for (std::size_t p = q * s.pool; p < (q + 1) * s.pool; ++p) {
                    const double normal = (y[p * s.channels + c] - mean) / std::sqrt(variance + 1e-5);
                    best = std::max(best, normal * w.gamma[c * s.positions() + p] + w.beta[c * s.positions() + p]);
                }
                out.push_back(best);
            }
        }
    }
    return out;
}

class SymbolConvShapes : public testing::TestWithParam<SymbolConvShape> {};

TEST_P(SymbolConvShapes, MatchesADenseReference) {
    const SymbolConvShape shape = GetParam();
    const Weights weights = random_weights(shape);
    const auto symbols = random_symbols(shape, 3);
    const auto layer = make_layer(shape, weights);

    const auto out = run_layer_floats(*layer, 3, symbols, 4);

    EXPECT_LT(relative_error(out, reference(shape, 3, symbols, weights)), fp32_tolerance);
}

// Shorter than, as long as and longer than twice the taps: the two ends of the statistics meet, touch or do not.
INSTANTIATE_TEST_SUITE_P(Shapes, SymbolConvShapes,
                         testing::Values(SymbolConvShape{7, 3, 7, 64, 1}, SymbolConvShape{9, 5, 7, 64, 3},
                                         SymbolConvShape{12, 2, 7, 64, 2}, SymbolConvShape{15, 9, 7, 128, 3},
                                         SymbolConvShape{13, 70, 1, 64, 13}, SymbolConvShape{301, 70, 2, 64, 3}));

TEST(SymbolConv, OfBlanksAloneIsFinite) {
    const SymbolConvShape shape{15, 9, 7, 64, 3};
    const Weights weights = random_weights(shape);
    const std::vector<std::uint8_t> blanks(shape.length, 9);
    const auto layer = make_layer(shape, weights);

    const auto out = run_layer_floats(*layer, 1, blanks, 1);

    EXPECT_LT(relative_error(out, reference(shape, 1, blanks, weights)), fp32_tolerance);
}

TEST(SymbolConv, PoisonsTheStreamOnASymbolOutsideTheAlphabet) {
    const SymbolConvShape shape{7, 3, 7, 64, 1};
    const auto layer = make_layer(shape, random_weights(shape));

    EXPECT_THROW((void)run_layer_floats(*layer, 1, std::vector<std::uint8_t>{0, 1, 2, 3, 4, 0, 0}, 1),
                 ContractViolation);
}

}  // namespace
}  // namespace sluice

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/classifier/symbol_conv_layout.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

struct Weights {
    std::vector<float> table;
    std::vector<float> bias;
    std::vector<float> gamma;
    std::vector<float> beta;

    explicit Weights(const SymbolConvGpuShape& s)
        : table(random_values(std::size_t{s.channels} * s.symbols * SymbolConvGpuShape::taps, 0.3F, 1)),
          bias(random_values(s.channels, 0.5F, 2)),
          gamma(random_values(std::size_t{s.channels} * s.positions(), 1.0F, 3)),
          beta(random_values(gamma.size(), 0.5F, 4)) {}
};

std::vector<double> plain(const SymbolConvGpuShape& s, std::uint32_t items, const Weights& w,
                          std::span<const std::uint8_t> symbols) {
    constexpr std::size_t taps = SymbolConvGpuShape::taps;
    std::vector<double> out(std::size_t{items} * s.pooled() * s.channels);
    std::vector<double> y(std::size_t{s.positions()} * s.channels);
    for (std::size_t item = 0; item < items; ++item) {
        double sum = 0;
        double squares = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            const std::size_t p = i / s.channels;
            const std::size_t c = i % s.channels;
            y[i] = static_cast<double>(w.bias[c]);
            for (std::size_t k = 0; k < taps; ++k) {
                const std::size_t symbol = symbols[item * s.length + p + k];
                y[i] += symbol < s.symbols ? static_cast<double>(w.table[(c * s.symbols + symbol) * taps + k]) : 0.0;
            }
            sum += y[i];
            squares += y[i] * y[i];
        }
        const double mean = sum / static_cast<double>(y.size());
        const double scale = 1 / std::sqrt(squares / static_cast<double>(y.size()) - mean * mean + 1e-5);
        for (std::size_t i = 0; i < y.size(); ++i) {
            const std::size_t p = i / s.channels;
            const std::size_t c = i % s.channels;
            const std::size_t at = c * s.positions() + p;
            double& to = out[(item * s.pooled() + p / SymbolConvGpuShape::pool) * s.channels + c];
            to = std::max(to,
                          (y[i] - mean) * scale * static_cast<double>(w.gamma[at]) + static_cast<double>(w.beta[at]));
        }
    }
    return out;
}

std::vector<float> run(const SymbolConvGpuShape& s, std::uint32_t items, Precision precision, const Weights& w,
                       std::span<const std::uint8_t> symbols, std::uint32_t block_shared_bytes) {
    const SymbolConvTables tables = make_symbol_conv_tables(s, precision, w.table, w.bias, w.gamma, w.beta);
    const DeviceMemory symbol_memory(std::as_bytes(symbols));
    const DeviceMemory table{std::span<const std::byte>(tables.table)};
    const DeviceMemory gamma{std::span<const std::byte>(tables.gamma)};
    const DeviceMemory beta{std::span<const std::byte>(tables.beta)};
    const DeviceMemory inner(std::as_bytes(std::span(tables.inner)));
    const DeviceMemory ends(std::as_bytes(std::span(tables.ends)));
    const DeviceMemory scales(items * sizeof(float2));
    const DeviceMemory out(std::size_t{items} * s.pooled() * s.channels * element_bytes(precision));
    const SymbolConvGpu conv(s, precision, items,
                             {.symbols = symbol_memory.as<std::uint8_t>(),
                              .table = table.as(),
                              .gamma = gamma.as(),
                              .beta = beta.as(),
                              .inner = inner.as<float>(),
                              .ends = ends.as<float>(),
                              .scales = scales.as<float2>(),
                              .out = out.as()},
                             block_shared_bytes);
    conv.enqueue_statistics(items, nullptr);
    conv.enqueue_convolution(items, nullptr);
    check_cuda(cudaDeviceSynchronize(), "symbol convolution");
    return decode(precision, out.content(), s.channels);
}

std::vector<std::uint8_t> random_symbols(const SymbolConvGpuShape& s, std::uint32_t items) {
    std::mt19937 engine(9);
    std::vector<std::uint8_t> symbols(std::size_t{items} * s.length);
    for (std::uint8_t& symbol : symbols) {
        symbol = static_cast<std::uint8_t>(engine() % (s.symbols + 1));
    }
    return symbols;
}

class SymbolConvolution : public OnGpu {
protected:
    /// What this GPU's blocks may have, and the least that any has.
    [[nodiscard]] std::vector<std::uint32_t> shared_bytes() const {
        return {gpu().block_shared_bytes(), least_shared_bytes};
    }
};

TEST_F(SymbolConvolution, EqualsAPlainOneAtOddSizesInEveryPrecision) {
    const std::pair<SymbolConvGpuShape, std::uint32_t> cases[] = {
        {{.length = 12, .symbols = 1, .channels = 128}, 1},     {{.length = 15, .symbols = 5, .channels = 256}, 33},
        {{.length = 177, .symbols = 71, .channels = 128}, 3},   {{.length = 1014, .symbols = 70, .channels = 256}, 31},
        {{.length = 36, .symbols = 70, .channels = 128}, 3001},
    };
    for (const auto& [shape, items] : cases) {
        SCOPED_TRACE(shape.length);
        const Weights weights(shape);
        const std::vector<std::uint8_t> symbols = random_symbols(shape, items);
        const std::vector<double> expected = plain(shape, items, weights, symbols);
        for (const Precision precision : every_precision) {
            for (const std::uint32_t shared : shared_bytes()) {
                EXPECT_LT(relative_error(run(shape, items, precision, weights, symbols, shared), expected),
                          tolerance(precision))
                    << shared << " bytes of shared memory";
            }
        }
    }
}

TEST_F(SymbolConvolution, StaysFiniteForATextOfBlanksOnly) {
    const SymbolConvGpuShape shape{.length = 1014, .symbols = 70, .channels = 256};
    const std::vector<std::uint8_t> blanks(shape.length, 70);

    for (const std::uint32_t shared : shared_bytes()) {
        for (const float value : run(shape, 1, Precision::bf16, Weights(shape), blanks, shared)) {
            ASSERT_TRUE(std::isfinite(value));
        }
    }
}

TEST_F(SymbolConvolution, ReadsNothingForeignForSymbolsOutsideTheAlphabet) {
    const SymbolConvGpuShape shape{.length = 15, .symbols = 70, .channels = 128};
    const std::vector<std::uint8_t> foreign(shape.length, 255);

    for (const std::uint32_t shared : shared_bytes()) {
        EXPECT_EQ(run(shape, 1, Precision::bf16, Weights(shape), foreign, shared).size(), 3U * 128U);
    }
}

TEST_F(SymbolConvolution, GivesTheSameBitsWhateverItsSharedMemory) {
    const SymbolConvGpuShape shape{.length = 1014, .symbols = 70, .channels = 256};
    constexpr std::uint32_t items = 201;
    const Weights weights(shape);
    const std::vector<std::uint8_t> symbols = random_symbols(shape, items);
    for (const Precision precision : every_precision) {
        const auto whole = run(shape, items, precision, weights, symbols, gpu().block_shared_bytes());
        const auto least = run(shape, items, precision, weights, symbols, least_shared_bytes);

        EXPECT_TRUE(std::ranges::equal(whole, least)) << "precision " << static_cast<int>(precision);
    }
}

TEST(SymbolConvolutionTables, RefuseAWeightThatHalfPrecisionCannotHold) {
    const SymbolConvGpuShape shape{.length = 12, .symbols = 2, .channels = 128};
    Weights weights(shape);
    weights.table[5] = 1e5F;

    const auto make = [&](Precision precision) {
        return make_symbol_conv_tables(shape, precision, weights.table, weights.bias, weights.gamma, weights.beta);
    };

    EXPECT_THROW(static_cast<void>(make(Precision::bf16)), Error);
    EXPECT_NO_THROW(static_cast<void>(make(Precision::fp32)));
}

}  // namespace
}  // namespace sluice

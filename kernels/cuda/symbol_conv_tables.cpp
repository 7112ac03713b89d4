#include "core/error.hpp"
#include "kernels/cuda/half_values.hpp"
#include "kernels/cuda/symbol_conv_gpu.hpp"
#include "kernels/cuda/symbol_conv_layout.hpp"

namespace sluice {
namespace {

using namespace symbol_conv;

constexpr std::size_t taps = SymbolConvGpuShape::taps;

std::vector<std::byte> narrowed(Precision precision, std::span<const float> values) {
    return number_bytes(precision) == 2 ? encode_half(values, "first convolution") : encode(Precision::fp32, values);
}

}  // namespace

SymbolConvTables make_symbol_conv_tables(const SymbolConvGpuShape& shape, Precision precision,
                                         std::span<const float> weights, std::span<const float> bias,
                                         std::span<const float> gamma, std::span<const float> beta) {
    const std::size_t channels = shape.channels;
    expects(weights.size() == channels * shape.symbols * taps && bias.size() == channels &&
                gamma.size() == channels * shape.positions() && beta.size() == gamma.size(),
            "symbol convolution: weights, bias, gamma or beta have the wrong size");
    const std::size_t slice_channels = row_bytes / number_bytes(precision);
    std::vector<double> rows(taps * table_rows * channels);  // (taps, table_rows, channels)
    std::vector<float> table(rows.size());
    for (std::size_t k = 0; k < taps; ++k) {
        for (std::size_t s = 0; s < table_rows; ++s) {
            for (std::size_t c = 0; c < channels; ++c) {
                const float weight = s < shape.symbols ? weights[(c * shape.symbols + s) * taps + k] : 0.0F;
                const float value = weight + (k == 0 ? bias[c] : 0.0F);
                const std::size_t slice = c / slice_channels;
                table[((slice * taps + k) * table_rows + s) * slice_channels + c % slice_channels] = value;
                rows[(k * table_rows + s) * channels + c] = static_cast<double>(value);
            }
        }
    }
    SymbolConvTables result{.table = narrowed(precision, table),
                            .gamma = narrowed(precision, positions_first(gamma, channels, shape.positions())),
                            .beta = narrowed(precision, positions_first(beta, channels, shape.positions())),
                            .inner = std::vector<float>(inner_floats),
                            .ends = std::vector<float>(end_floats)};
    const auto row = [&](std::size_t k, std::size_t s) { return &rows[(k * table_rows + s) * channels]; };
    const std::size_t known = shape.symbols + 1;
    std::vector<double> inner(inner_floats);
    for (std::size_t k = 0; k < taps; ++k) {
        for (std::size_t a = 0; a < known; ++a) {
            double sum = 0;
            for (std::size_t c = 0; c < channels; ++c) {
                sum += row(k, a)[c];
            }
            inner[inner_sums_at + a] += sum;
            result.ends[end_sums_at + k * table_rows + a] = static_cast<float>(sum);
        }
        for (std::size_t d = 0; k + d < taps; ++d) {
            for (std::size_t a = 0; a < known; ++a) {
                for (std::size_t b = d == 0 ? a : 0; b < (d == 0 ? a + 1 : known); ++b) {
                    double dot = 0;
                    for (std::size_t c = 0; c < channels; ++c) {
                        dot += row(k, a)[c] * row(k + d, b)[c];
                    }
                    dot *= d == 0 ? 1 : 2;
                    result.ends[end_pair_at(d, k) + a * table_rows + b] = static_cast<float>(dot);
                    inner[d == 0 ? a : inner_pair_at(d) + a * table_rows + b] += dot;
                }
            }
        }
    }
    for (std::size_t i = 0; i < inner.size(); ++i) {
        result.inner[i] = static_cast<float>(inner[i]);
    }
    return result;
}

}  // namespace sluice

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/classifier/symbol_conv_layout.hpp"
#include "kernels/cuda/primitives/half_values.hpp"

namespace sluice {
namespace {

using namespace symbol_conv;

constexpr std::size_t taps = SymbolConvGpuShape::taps;

std::vector<std::byte> narrowed(Precision precision, std::span<const float> values) {
    return number_bytes(precision) == 2 ? encode_half(values, "first convolution") : encode(Precision::fp32, values);
}

/// Rows of weights in double, to sum them up.
class TableRows {
public:
    explicit TableRows(std::size_t channels) : channels_(channels), values_(taps * table_rows * channels) {}

    [[nodiscard]] std::span<double> row(std::size_t tap, std::size_t symbol) {
        return std::span(values_).subspan((tap * table_rows + symbol) * channels_, channels_);
    }
    [[nodiscard]] double sum(std::size_t tap, std::size_t symbol) const {
        const double* const values = at(tap, symbol);
        return std::accumulate(values, values + channels_, 0.0);
    }
    [[nodiscard]] double dot(std::size_t tap, std::size_t symbol, std::size_t other_tap, std::size_t other) const {
        const double* const values = at(tap, symbol);
        return std::inner_product(values, values + channels_, at(other_tap, other), 0.0);
    }

private:
    [[nodiscard]] const double* at(std::size_t tap, std::size_t symbol) const {
        return &values_[(tap * table_rows + symbol) * channels_];
    }

    std::size_t channels_;
    std::vector<double> values_;  // (taps, table_rows, channels)
};

/// The weights, (taps, table_rows, channels) in slices of `slice_channels` channels, with the bias in tap 0; fills
/// `rows` with the same values.
std::vector<float> lay_out(const SymbolConvGpuShape& shape, std::size_t slice_channels, std::span<const float> weights,
                           std::span<const float> bias, TableRows& rows) {
    const std::size_t channels = shape.channels;
    std::vector<float> table(taps * table_rows * channels);
    for (std::size_t k = 0; k < taps; ++k) {
        for (std::size_t s = 0; s < table_rows; ++s) {
            const std::span<double> row = rows.row(k, s);
            for (std::size_t c = 0; c < channels; ++c) {
                const float weight = s < shape.symbols ? weights[(c * shape.symbols + s) * taps + k] : 0.0F;
                const float value = weight + (k == 0 ? bias[c] : 0.0F);
                const std::size_t slice = c / slice_channels;
                table[((slice * taps + k) * table_rows + s) * slice_channels + c % slice_channels] = value;
                row[c] = static_cast<double>(value);
            }
        }
    }
    return table;
}

/// Fills `inner` and `ends` of `tables`, for symbols up to the blank, number `blank`.
void add_statistics(const TableRows& rows, std::size_t blank, SymbolConvTables& tables) {
    std::vector<double> inner(inner_floats);
    tables.ends.resize(end_floats);
    for (std::size_t k = 0; k < taps; ++k) {
        for (std::size_t a = 0; a <= blank; ++a) {
            const double sum = rows.sum(k, a);
            const double square = rows.dot(k, a, k, a);
            inner[inner_sums_at + a] += sum;
            inner[a] += square;
            tables.ends[end_sums_at + k * table_rows + a] = static_cast<float>(sum);
            tables.ends[end_pair_at(0, k) + a * table_rows + a] = static_cast<float>(square);
        }
        for (std::size_t d = 1; k + d < taps; ++d) {
            for (std::size_t a = 0; a <= blank; ++a) {
                for (std::size_t b = 0; b <= blank; ++b) {
                    const double twice = 2 * rows.dot(k, a, k + d, b);
                    inner[inner_pair_at(d) + a * table_rows + b] += twice;
                    tables.ends[end_pair_at(d, k) + a * table_rows + b] = static_cast<float>(twice);
                }
            }
        }
    }
    tables.inner.resize(inner_floats);
    std::ranges::transform(inner, tables.inner.begin(), [](double value) { return static_cast<float>(value); });
}

}  // namespace

SymbolConvTables make_symbol_conv_tables(const SymbolConvGpuShape& shape, Precision precision,
                                         std::span<const float> weights, std::span<const float> bias,
                                         std::span<const float> gamma, std::span<const float> beta) {
    const std::size_t channels = shape.channels;
    expects(weights.size() == channels * shape.symbols * taps && bias.size() == channels &&
                gamma.size() == channels * shape.positions() && beta.size() == gamma.size(),
            "symbol convolution: weights, bias, gamma or beta have the wrong size");
    TableRows rows(channels);
    const std::vector<float> table = lay_out(shape, row_bytes / number_bytes(precision), weights, bias, rows);
    SymbolConvTables tables{.table = narrowed(precision, table),
                            .gamma = narrowed(precision, positions_first(gamma, channels, shape.positions())),
                            .beta = narrowed(precision, positions_first(beta, channels, shape.positions())),
                            .inner = {},
                            .ends = {}};
    add_statistics(rows, shape.symbols, tables);
    return tables;
}

}  // namespace sluice

#include "kernels/cuda/decoder/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "kernels/cuda/gemm/fp8_gemm.hpp"
#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/primitives/e4m3_values.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "kernels/rotary.hpp"

namespace sluice::decoder {
namespace {

/// Shape of a matrix, (rows, columns), padded with zeros.
struct Wanted {
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t padded_rows;
    std::uint32_t padded_columns;
};

/// Some of its padded rows.
struct Rows {
    std::size_t first;
    std::size_t count;
};

std::vector<float> padded(const WeightValues& values, const Wanted& wanted, const Rows& rows) {
    std::vector<float> result(rows.count * wanted.padded_columns);
    for (std::size_t row = 0; row < rows.count && rows.first + row < wanted.rows; ++row) {
        values.subspan((rows.first + row) * wanted.columns, wanted.columns).read(&result[row * wanted.padded_columns]);
    }
    return result;
}

/// Transposes a matrix stored as (columns, rows). In squares, so that reads and writes stay in the cache.
std::vector<float> padded_across(const WeightValues& values, const Wanted& wanted, const Rows& rows) {
    constexpr std::size_t side = 32;
    const std::size_t end = std::min<std::size_t>(rows.first + rows.count, wanted.rows);
    std::vector<float> result(rows.count * wanted.padded_columns);
    std::array<float, side> of_column{};
    for (std::size_t first_row = rows.first; first_row < end; first_row += side) {
        const std::size_t end_row = std::min(first_row + side, end);
        for (std::size_t first_column = 0; first_column < wanted.columns; first_column += side) {
            const std::size_t end_column = std::min<std::size_t>(first_column + side, wanted.columns);
            for (std::size_t column = first_column; column < end_column; ++column) {
                values.subspan(column * wanted.rows + first_row, end_row - first_row).read(of_column.data());
                for (std::size_t row = first_row; row < end_row; ++row) {
                    result[(row - rows.first) * wanted.padded_columns + column] = of_column[row - first_row];
                }
            }
        }
    }
    return result;
}

struct Size {
    std::uint32_t values;
    std::uint32_t stride;  ///< In fp32.
};

CudaWeights of_rows(PackedWeights& packed, Precision precision, const Wanted& wanted,
                    const std::function<std::vector<float>(const Rows&)>& make) {
    const std::size_t row_bytes = wanted.padded_columns * number_bytes(precision);
    const std::size_t piece_rows = rows_of_piece(wanted.padded_columns);
    return {packed, wanted.padded_rows * row_bytes, piece_rows * row_bytes, [=](std::uint32_t piece) {
                const std::size_t first = piece * piece_rows;
                const std::vector<float> values = make({first, std::min(piece_rows, wanted.padded_rows - first)});
                if (precision == Precision::fp16x2) {
                    return encode_half_codes(values, wanted.padded_columns, "weights");
                }
                return precision == Precision::tf32x3 ? encode_half_parts(values, wanted.padded_columns, "weights")
                                                      : encode(precision, values);
            }};
}

/// `count` values, or none, padded to `stride`.
CudaWeights of_floats(PackedWeights& packed, const WeightValues& values, const Size& size) {
    expects(values.empty() || values.size() == size.values, "decoder: a vector of another size");
    const Wanted wanted{1, static_cast<std::uint32_t>(values.size()), 1, size.stride};
    return of_rows(packed, Precision::fp32, wanted, [=](const Rows& rows) { return padded(values, wanted, rows); });
}

/// (inputs, outputs) in fp32, otherwise (outputs, inputs).
CudaWeights of_matrix(PackedWeights& packed, Precision precision, const WeightValues& weights, MatrixOrder order,
                      const Size& inputs, const Size& outputs) {
    expects(weights.size() == std::size_t{inputs.values} * outputs.values, "decoder: a matrix of another size");
    const bool by_inputs = precision == Precision::fp32;
    const Wanted wanted = by_inputs ? Wanted{inputs.values, outputs.values, inputs.stride, outputs.stride}
                                    : Wanted{outputs.values, inputs.values, outputs.values, inputs.values};
    const auto make = by_inputs == (order == MatrixOrder::by_inputs) ? &padded : &padded_across;
    return of_rows(packed, precision, wanted, [=](const Rows& rows) { return make(weights, wanted, rows); });
}

/// Weights stored as (tokens, inputs).
CudaWeights of_tokens(PackedWeights& packed, Precision precision, const DecoderShape& shape,
                      const WeightValues& weights) {
    const Strides strides = strides_of(shape, precision);
    return of_matrix(packed, precision, weights, MatrixOrder::by_outputs, {shape.width, strides.width},
                     {shape.vocabulary, strides.vocabulary});
}

CudaWeights of_positions(PackedWeights& packed, const DecoderShape& shape, const WeightValues& positions) {
    expects(positions.size() == std::size_t{shape.positions} * shape.width, "decoder: positions of another size");
    const Wanted wanted{shape.positions, shape.width, shape.positions, shape.width};
    return of_rows(packed, Precision::fp32, wanted, [=](const Rows& rows) { return padded(positions, wanted, rows); });
}

/// Values that change no bit of what they are added to.
CudaWeights of_nothing(PackedWeights& packed, std::uint32_t count) {
    return {packed, count * sizeof(float), [=] { return sluice::bytes_of(std::vector<float>(count, -0.0F)); }};
}

/// Weights, (outputs, inputs), for rows that are not yet normalised: they include gamma and subtract the rows' mean,
/// unless `is_rms`. See WeightsOnDevice.
std::vector<float> normalising(const DecoderLinear& linear, const WeightValues& gain, bool is_rms) {
    const std::vector<float> gamma = gain.floats();
    const auto inputs = static_cast<std::uint32_t>(gamma.size());
    const auto outputs = static_cast<std::uint32_t>(linear.weights.size() / inputs);
    const Wanted wanted{outputs, inputs, outputs, inputs};
    const auto make = linear.order == MatrixOrder::by_outputs ? &padded : &padded_across;
    std::vector<float> values = make(linear.weights, wanted, {0, outputs});
    for (std::uint32_t n = 0; n < outputs; ++n) {
        const std::span<float> row(&values[std::size_t{n} * inputs], inputs);
        std::ranges::transform(row, gamma, row.begin(), std::multiplies());
        if (!is_rms) {
            const double mean = std::accumulate(row.begin(), row.end(), 0.0) / inputs;
            std::ranges::transform(row, row.begin(),
                                   [&](float value) { return static_cast<float>(static_cast<double>(value) - mean); });
        }
    }
    return values;
}

/// The rows of an expansion, whose first half are gates, in the order of GemmShape::gated; `row` values each.
std::vector<float> with_gates_beside(const std::vector<float>& rows, std::size_t row) {
    const std::size_t half = rows.size() / row / 2;
    expects(half % gate_columns == 0, "decoder: gates in no whole groups");
    std::vector<float> result(rows.size());
    for (std::size_t n = 0; n < 2 * half; ++n) {
        const std::size_t of_half = n % half;
        const std::size_t to =
            of_half / gate_columns * 2 * gate_columns + of_half % gate_columns + (n < half ? 0 : gate_columns);
        std::copy_n(&rows[n * row], row, &result[to * row]);
    }
    return result;
}

/// Calls take(output, input, weight) for all of a matrix, in the order of its inputs for each output.
template <class Take>
void for_all(const DecoderLinear& linear, std::size_t outputs, const Take& take) {
    const bool by_outputs = linear.order == MatrixOrder::by_outputs;
    const std::size_t inputs = linear.weights.size() / outputs;
    std::vector<float> values(by_outputs ? inputs : outputs);
    for (std::size_t row = 0; row < linear.weights.size() / values.size(); ++row) {
        linear.weights.subspan(row * values.size(), values.size()).read(values.data());
        for (std::size_t i = 0; i < values.size(); ++i) {
            by_outputs ? take(row, i, values[i]) : take(i, row, values[i]);
        }
    }
}

/// The bias plus beta times the weights; either may be absent.
std::vector<float> bias_with(const WeightValues& shift, const DecoderLinear& linear, std::uint32_t outputs) {
    const std::vector<float> bias = linear.bias.floats();
    const std::vector<float> beta = shift.floats();
    std::vector<double> values(bias.begin(), bias.end());
    values.resize(outputs);
    if (!beta.empty()) {
        for_all(linear, outputs, [&](std::size_t output, std::size_t input, float weight) {
            values[output] += static_cast<double>(beta[input]) * static_cast<double>(weight);
        });
    }
    return {values.begin(), values.end()};
}

/// How large a result of normalised rows can be, by Cauchy and Schwarz: their length is the root of the width.
/// `gamma` and `beta` as for normalising() and bias_with().
double bound_of_results(const DecoderLinear& linear, const DecoderNorm& norm, bool is_rms) {
    const std::vector<float> gamma = norm.gamma.floats();
    const std::size_t outputs = linear.weights.size() / gamma.size();
    std::vector<double> sums(outputs);
    std::vector<double> squares(outputs);
    for_all(linear, outputs, [&](std::size_t output, std::size_t input, float weight) {
        const double value = double{weight} * double{gamma[input]};
        sums[output] += value;
        squares[output] += value * value;
    });
    const auto count = static_cast<double>(gamma.size());
    const std::vector<float> bias = bias_with(norm.beta, linear, static_cast<std::uint32_t>(outputs));
    double bound = 0;
    for (std::size_t n = 0; n < outputs; ++n) {
        const double of_mean = is_rms ? 0 : sums[n] * sums[n] / count;
        bound = std::max(bound, std::sqrt(count * std::max(squares[n] - of_mean, 0.0)) + std::abs(double{bias[n]}));
    }
    return bound;
}

[[noreturn]] void refuse_weights(std::string what) {
    throw Error(
        ExitCode::numeric,
        {.id = "E-NUM-110", .where = "weights", .what = std::move(what), .hint = "set run.precision = \"bf16\""});
}

/// By which no activated result of an expansion is above 448, but for what rounding adds. Its product activates in
/// fp16, which has room for 65,504; rounding both factors makes a result up to an eighth larger.
float inner_code_scale(const DecoderLinear& expansion, const DecoderNorm& norm, bool is_rms) {
    constexpr double largest = 57'000;
    constexpr float most = 0x1p15F;  // in fp16, too
    const double bound = bound_of_results(expansion, norm, is_rms);
    if (!(bound <= largest)) {
        refuse_weights(
            fmt::format("inner values may be as large as {:.3g}, and fp8 has room up to {}", bound, largest));
    }
    return std::min(e4m3_scale_for(bound), most);
}

/// Rows of the contraction in the order in which the expansion's product leaves its inputs.
std::vector<float> in_code_order(const std::vector<float>& rows) {
    std::vector<float> result(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {  // rows are whole periods of the order
        result[i] = rows[e4m3_column(static_cast<std::uint32_t>(i))];
    }
    return result;
}

std::size_t e4m3_bytes(std::size_t values) {
    constexpr std::size_t multiple = 16;
    constexpr std::size_t scales = 16;  // two, at the end
    return (values + multiple - 1) / multiple * multiple + scales;
}

/// A matrix in e4m3 with its scales, for factors that are multiplied by `factor_scale`.
std::vector<std::byte> encode_matrix(const std::vector<float>& values, float factor_scale, float result_scale) {
    float largest = 0;
    for (const float value : values) {
        largest = std::max(largest, std::abs(value));
    }
    if (!std::isfinite(largest)) {
        refuse_weights("a weight times that of its normalisation is infinite");
    }
    const float scale = e4m3_scale_for(double{largest});
    const std::array scales{1 / (scale * factor_scale), result_scale};
    std::vector<std::byte> bytes(e4m3_bytes(values.size()));
    encode_e4m3(values, scale, std::span(bytes).first(values.size()));
    std::memcpy(&bytes[bytes.size() - sizeof scales], scales.data(), sizeof scales);
    return bytes;
}

}  // namespace

float normed_code_scale(std::uint32_t width) {
    return e4m3_scale_for(std::sqrt(static_cast<double>(width)));
}

CudaDecoderWeights::CudaDecoderWeights(const DecoderShape& shape, Precision precision, const DecoderWeights& weights,
                                       PackedWeights& packed)
    : last_norm_{of_floats(packed, weights.last_norm.gamma, {shape.width, shape.width}),
                 of_floats(packed, weights.last_norm.beta, {shape.width, shape.width})},
      tokens_(of_tokens(packed, values_in(precision), shape, weights.tokens)),
      positions_(shape.rotary ? of_nothing(packed, shape.width) : of_positions(packed, shape, weights.positions)) {
    expects(weights.blocks.size() == shape.layers && shape.heads % shape.heads_of_keys() == 0 &&
                (shape.head_size != 0 || shape.width % shape.heads == 0),
            "decoder: as many blocks as it has layers, of whole heads");
    if (!weights.head.empty()) {
        own_head_ = of_tokens(packed, values_in(precision), shape, weights.head);
    }
    if (shape.rotary) {
        angles_.emplace(packed, rotary_floats(shape) * sizeof(float),
                        [shape] { return sluice::bytes_of(rotary_table(shape)); });
    }
    const Strides strides = strides_of(shape, precision);
    const bool folds = is_narrow(precision);
    const bool in_codes = precision == Precision::fp8;
    const auto norm = [&](const DecoderNorm& of) {
        return folds ? std::nullopt
                     : std::optional<Norm>({of_floats(packed, of.gamma, {shape.width, shape.width}),
                                            of_floats(packed, of.beta, {shape.width, shape.width})});
    };
    const auto linear = [&](const DecoderLinear& of, const Size& inputs, const Size& outputs) {
        return Linear{of_matrix(packed, values_in(precision), of.weights, of.order, inputs, outputs),
                      of_floats(packed, of.bias, outputs)};
    };
    const auto linear_of_normed = [&](const DecoderLinear& of, const DecoderNorm& before, const Size& inputs,
                                      const Size& outputs, bool gated) {
        if (!folds) {
            return linear(of, inputs, outputs);
        }
        expects(of.weights.size() == std::size_t{inputs.values} * outputs.values, "decoder: a matrix of another size");
        expects(of.bias.empty() || of.bias.size() == outputs.values, "decoder: a bias of another size");
        expects(before.gamma.size() == inputs.values && (before.beta.empty() || before.beta.size() == inputs.values),
                "decoder: a normalisation of another size");
        const bool is_rms = shape.normalisation == DecoderNormalisation::rms;
        const auto in_order = [gated](std::vector<float> rows, std::size_t row) {
            return gated ? with_gates_beside(rows, row) : std::move(rows);
        };
        const auto make = [=] {
            return encode(precision, in_order(normalising(of, before.gamma, is_rms), inputs.values));
        };
        const auto make_codes = [=] {
            const float of_results = gated ? 1 : inner_code_scale(of, before, is_rms);
            return encode_matrix(in_order(normalising(of, before.gamma, is_rms), inputs.values),
                                 normed_code_scale(inputs.values), of_results);
        };
        return Linear{
            .weights = in_codes ? CudaWeights(packed, e4m3_bytes(of.weights.size()), make_codes)
                                : CudaWeights(packed, of.weights.size() * number_bytes(precision), make),
            .bias = {packed, outputs.values * sizeof(float),
                     [=] { return encode(Precision::fp32, in_order(bias_with(before.beta, of, outputs.values), 1)); }}};
    };
    const auto contraction = [&](const DecoderBlockWeights& of, const Size& inputs, const Size& outputs) {
        if (!contracts_codes(shape, precision)) {
            return linear(of.contraction, inputs, outputs);
        }
        expects(of.contraction.weights.size() == std::size_t{inputs.values} * outputs.values,
                "decoder: a matrix of another size");
        const bool is_rms = shape.normalisation == DecoderNormalisation::rms;
        const Wanted wanted{outputs.values, inputs.values, outputs.values, inputs.values};
        const auto make = [=] {
            const auto across = of.contraction.order == MatrixOrder::by_outputs ? &padded : &padded_across;
            const float of_inputs = inner_code_scale(of.expansion, of.inner_norm, is_rms);
            return encode_matrix(in_code_order(across(of.contraction.weights, wanted, {0, wanted.rows})), of_inputs, 1);
        };
        return Linear{.weights = {packed, e4m3_bytes(of.contraction.weights.size()), make},
                      .bias = of_floats(packed, of.contraction.bias, outputs)};
    };
    const Size width{shape.width, strides.width};
    const Size queries{shape.attention_width(), strides.queries};
    const Size expanded{shape.expanded_width(), std::max(strides.expanded, strides.inner)};
    const Size inner{shape.inner, strides.inner};
    for (const DecoderBlockWeights& block : weights.blocks) {
        blocks_.push_back(
            {.attention_norm = norm(block.attention_norm),
             .attention = linear_of_normed(block.attention, block.attention_norm, width, queries, false),
             .projection = linear(block.projection, {shape.query_width(), strides.mixed}, width),
             .inner_norm = norm(block.inner_norm),
             .expansion = linear_of_normed(block.expansion, block.inner_norm, width, expanded, shape.gated),
             .contraction = contraction(block, inner, width)});
    }
}

WeightsOnDevice::Norm CudaDecoderWeights::on(Device& device, const Norm& norm) {
    return {.gamma = norm.gamma.on(device), .beta = norm.beta.on(device)};
}

WeightsOnDevice::Linear CudaDecoderWeights::on(Device& device, const Linear& linear) {
    return {.weights = linear.weights.on(device), .bias = linear.bias.on(device)};
}

WeightsOnDevice CudaDecoderWeights::on(Device& device) const {
    WeightsOnDevice result{.last_norm = on(device, last_norm_),
                           .tokens = tokens_.on(device),
                           .own_head = own_head_ ? own_head_->on(device) : Buffer(),
                           .positions = positions_.on(device),
                           .angles = angles_ ? angles_->on(device) : Buffer()};
    const auto norm = [&](const std::optional<Norm>& of) { return of ? on(device, *of) : WeightsOnDevice::Norm{}; };
    for (const Block& block : blocks_) {
        result.blocks.push_back({.attention_norm = norm(block.attention_norm),
                                 .attention = on(device, block.attention),
                                 .projection = on(device, block.projection),
                                 .inner_norm = norm(block.inner_norm),
                                 .expansion = on(device, block.expansion),
                                 .contraction = on(device, block.contraction)});
    }
    return result;
}

}  // namespace sluice::decoder

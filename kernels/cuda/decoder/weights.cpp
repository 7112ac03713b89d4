#include "kernels/cuda/decoder/weights.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "kernels/cuda/half_values.hpp"

namespace sluice::decoder {
namespace {

/// A matrix as (rows, columns), as it is wanted: its padding is zero.
struct Wanted {
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t padded_rows;
    std::uint32_t padded_columns;
};

std::vector<float> padded(std::span<const float> values, const Wanted& wanted) {
    std::vector<float> result(std::size_t{wanted.padded_rows} * wanted.padded_columns);
    for (std::size_t row = 0; row < wanted.rows; ++row) {
        std::ranges::copy(values.subspan(row * wanted.columns, wanted.columns),
                          result.begin() + static_cast<std::ptrdiff_t>(row * wanted.padded_columns));
    }
    return result;
}

/// Of a matrix that lies as (columns, rows). In squares, so that what is read and what is written stay in the cache.
std::vector<float> padded_across(std::span<const float> values, const Wanted& wanted) {
    constexpr std::size_t side = 32;
    std::vector<float> result(std::size_t{wanted.padded_rows} * wanted.padded_columns);
    for (std::size_t first_row = 0; first_row < wanted.rows; first_row += side) {
        const std::size_t end_row = std::min<std::size_t>(first_row + side, wanted.rows);
        for (std::size_t first_column = 0; first_column < wanted.columns; first_column += side) {
            const std::size_t end_column = std::min<std::size_t>(first_column + side, wanted.columns);
            for (std::size_t column = first_column; column < end_column; ++column) {
                for (std::size_t row = first_row; row < end_row; ++row) {
                    result[row * wanted.padded_columns + column] = values[column * wanted.rows + row];
                }
            }
        }
    }
    return result;
}

CudaWeights of_values(PackedWeights& packed, Precision precision, const Wanted& wanted,
                      std::function<std::vector<float>()> make) {
    const std::size_t bytes = std::size_t{wanted.padded_rows} * wanted.padded_columns * number_bytes(precision);
    return {packed, bytes, [precision, row = wanted.padded_columns, make = std::move(make)] {
                return precision == Precision::tf32x3 ? encode_half_parts(make(), row, "weights")
                                                      : encode(precision, make());
            }};
}

CudaWeights of_floats(PackedWeights& packed, std::span<const float> values, std::uint32_t count) {
    const Wanted wanted{1, static_cast<std::uint32_t>(values.size()), 1, count};
    return of_values(packed, Precision::fp32, wanted, [=] { return padded(values, wanted); });
}

/// Weights that lie as (inputs, outputs).
CudaWeights of_matrix(PackedWeights& packed, Precision precision, std::span<const float> weights, std::uint32_t inputs,
                      std::uint32_t outputs, std::uint32_t input_stride, std::uint32_t output_stride) {
    if (precision == Precision::fp32) {
        const Wanted wanted{inputs, outputs, input_stride, output_stride};
        return of_values(packed, precision, wanted, [=] { return padded(weights, wanted); });
    }
    const Wanted wanted{outputs, inputs, outputs, inputs};
    return of_values(packed, precision, wanted, [=] { return padded_across(weights, wanted); });
}

/// Weights that lie as (tokens, inputs).
CudaWeights of_tokens(PackedWeights& packed, Precision precision, const DecoderShape& shape, const Strides& strides,
                      std::span<const float> weights) {
    if (precision == Precision::fp32) {
        const Wanted wanted{shape.width, shape.vocabulary, strides.width, strides.vocabulary};
        return of_values(packed, precision, wanted, [=] { return padded_across(weights, wanted); });
    }
    const Wanted wanted{shape.vocabulary, shape.width, shape.vocabulary, shape.width};
    return of_values(packed, precision, wanted, [=] { return padded(weights, wanted); });
}

/// For rows that are not normalised yet: of weights that lie as (inputs, outputs), those as (outputs, inputs) that hold
/// gamma and take the rows' mean away. See WeightsOnDevice.
std::vector<float> normalising(std::span<const float> weights, std::span<const float> gamma) {
    const auto inputs = static_cast<std::uint32_t>(gamma.size());
    const auto outputs = static_cast<std::uint32_t>(weights.size() / inputs);
    std::vector<float> values = padded_across(weights, {outputs, inputs, outputs, inputs});
    for (std::uint32_t n = 0; n < outputs; ++n) {
        const std::span<float> row(&values[std::size_t{n} * inputs], inputs);
        std::ranges::transform(row, gamma, row.begin(), std::multiplies());
        const double mean = std::accumulate(row.begin(), row.end(), 0.0) / inputs;
        std::ranges::transform(row, row.begin(),
                               [&](float value) { return static_cast<float>(static_cast<double>(value) - mean); });
    }
    return values;
}

/// The bias and what beta makes of the weights.
std::vector<float> bias_with(std::span<const float> beta, const DecoderLinear& linear) {
    std::vector<double> values(linear.bias.begin(), linear.bias.end());
    for (std::size_t k = 0; k < beta.size(); ++k) {
        for (std::size_t n = 0; n < values.size(); ++n) {
            values[n] += static_cast<double>(beta[k]) * static_cast<double>(linear.weights[k * values.size() + n]);
        }
    }
    return {values.begin(), values.end()};
}

}  // namespace

CudaDecoderWeights::CudaDecoderWeights(const DecoderShape& shape, Precision precision, const DecoderWeights& weights,
                                       PackedWeights& packed)
    : last_norm_{of_floats(packed, weights.last_norm.gamma, shape.width),
                 of_floats(packed, weights.last_norm.beta, shape.width)},
      tokens_(of_tokens(packed, precision, shape, strides_of(shape, precision), weights.tokens)),
      positions_(of_floats(packed, weights.positions, shape.positions * shape.width)) {
    const Strides strides = strides_of(shape, precision);
    const bool folds = is_narrow(precision);
    const auto norm = [&](const DecoderNorm& of) {
        return folds ? std::nullopt
                     : std::optional<Norm>(
                           {of_floats(packed, of.gamma, shape.width), of_floats(packed, of.beta, shape.width)});
    };
    const auto linear = [&](const DecoderLinear& of, std::uint32_t input_stride, std::uint32_t output_stride) {
        const auto outputs = static_cast<std::uint32_t>(of.bias.size());
        const auto inputs = static_cast<std::uint32_t>(of.weights.size() / outputs);
        return Linear{of_matrix(packed, precision, of.weights, inputs, outputs, input_stride, output_stride),
                      of_floats(packed, of.bias, output_stride)};
    };
    const auto linear_of_normed = [&](const DecoderLinear& of, const DecoderNorm& before, std::uint32_t output_stride) {
        if (!folds) {
            return linear(of, strides.width, output_stride);
        }
        return Linear{.weights = {packed, of.weights.size() * number_bytes(precision),
                                  [=] { return encode(precision, normalising(of.weights, before.gamma)); }},
                      .bias = {packed, of.bias.size() * sizeof(float),
                               [=] { return encode(Precision::fp32, bias_with(before.beta, of)); }}};
    };
    for (const DecoderBlockWeights& block : weights.blocks) {
        blocks_.push_back({.attention_norm = norm(block.attention_norm),
                           .attention = linear_of_normed(block.attention, block.attention_norm, strides.queries),
                           .projection = linear(block.projection, strides.width, strides.width),
                           .inner_norm = norm(block.inner_norm),
                           .expansion = linear_of_normed(block.expansion, block.inner_norm, strides.inner),
                           .contraction = linear(block.contraction, strides.inner, strides.width)});
    }
}

WeightsOnDevice::Norm CudaDecoderWeights::on(Device& device, const Norm& norm) {
    return {.gamma = norm.gamma.on(device), .beta = norm.beta.on(device)};
}

WeightsOnDevice::Linear CudaDecoderWeights::on(Device& device, const Linear& linear) {
    return {.weights = linear.weights.on(device), .bias = linear.bias.on(device)};
}

WeightsOnDevice CudaDecoderWeights::on(Device& device) const {
    WeightsOnDevice result{
        .last_norm = on(device, last_norm_), .tokens = tokens_.on(device), .positions = positions_.on(device)};
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

#include "kernels/cuda/generator/weights.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "kernels/cuda/generator/tensor_kernel.hpp"
#include "kernels/cuda/ordered/product.hpp"

namespace sluice::generator {
namespace {

constexpr std::uint32_t gate_count = 3;
constexpr std::uint32_t unit_group = tensor_units;

/// Order of the rows of a matrix of weights, (outputs, inputs): returns the output of row `number`, or no_output.
constexpr std::uint32_t no_output = 0xFFFFFFFF;
using OutputOrder = std::function<std::uint32_t(std::uint32_t number)>;

struct Matrix {
    std::span<const float> weights;  // (any, inputs)
    std::uint32_t inputs;
    std::uint32_t padded_inputs;
    std::uint32_t padded_outputs;
};

std::vector<float> transposed(const Matrix& matrix, const OutputOrder& order) {
    std::vector<float> result(std::size_t{matrix.padded_inputs} * matrix.padded_outputs);
    for (std::uint32_t o = 0; o < matrix.padded_outputs; ++o) {
        if (const std::uint32_t from = order(o); from != no_output) {
            const float* const row = &matrix.weights[std::size_t{from} * matrix.inputs];
            for (std::uint32_t i = 0; i < matrix.inputs; ++i) {
                result[std::size_t{i} * matrix.padded_outputs + o] = row[i];
            }
        }
    }
    return result;
}

std::vector<float> in_rows(const Matrix& matrix, const OutputOrder& order) {
    std::vector<float> result(std::size_t{matrix.padded_inputs} * matrix.padded_outputs);
    for (std::uint32_t o = 0; o < matrix.padded_outputs; ++o) {
        if (const std::uint32_t from = order(o); from != no_output) {
            std::ranges::copy(matrix.weights.subspan(std::size_t{from} * matrix.inputs, matrix.inputs),
                              result.begin() + static_cast<std::ptrdiff_t>(std::size_t{o} * matrix.padded_inputs));
        }
    }
    return result;
}

/// Encodes in the precision; for tf32x3 the scaled values rounded to fp16, then the remainders rounded to fp16.
std::vector<std::byte> in_parts(Precision precision, std::vector<float> values) {
    if (precision != Precision::tf32x3) {
        return encode(precision, values);
    }
    for (float& value : values) {
        value *= two_part_scale;
    }
    std::vector<std::byte> bytes = encode(Precision::fp16, values);
    std::vector<float> rests = decode(Precision::fp16, bytes);
    std::ranges::transform(values, rests, rests.begin(), std::minus());
    const std::vector<std::byte> seconds = encode(Precision::fp16, rests);
    bytes.insert(bytes.end(), seconds.begin(), seconds.end());
    return bytes;
}

/// Gates in sequence, each padded.
OutputOrder gates_apart(const GruShape& shape, const PaddedShape& padded) {
    return [hidden = shape.hidden, all = padded.hidden](std::uint32_t number) {
        const std::uint32_t gate = number / all;
        const std::uint32_t unit = number % all;
        return gate < gate_count && unit < hidden ? gate * hidden + unit : no_output;
    };
}

/// 64 units of each gate in turn, in the order of the threads' sums.
OutputOrder gates_in_groups(const GruShape& shape) {
    return [hidden = shape.hidden](std::uint32_t number) {
        const std::uint32_t group = number / (gate_count * unit_group);
        const std::uint32_t gate = number / unit_group % gate_count;
        const std::uint32_t unit = group * unit_group + unit_of_column(number % unit_group);
        return unit < hidden ? gate * hidden + unit : no_output;
    };
}

CudaWeights of_floats(PackedWeights& packed, std::size_t count, std::function<std::vector<float>()> make) {
    return {packed, count * sizeof(float), [make = std::move(make)] { return bytes_of(make()); }};
}

CudaWeights of_matrix(PackedWeights& packed, Precision precision, const Matrix& matrix, const OutputOrder& order) {
    const std::size_t count = std::size_t{matrix.padded_inputs} * matrix.padded_outputs;
    if (precision == Precision::fp32) {
        return of_floats(packed, count, [=] { return transposed(matrix, order); });
    }
    return {packed, count * part_bytes_of_generator(precision) * parts_of_generator(precision),
            [=] { return in_parts(precision, in_rows(matrix, order)); }};
}

std::uint32_t one_to_one(std::uint32_t number) {
    return number;
}

/// The bias as a matrix with one input.
CudaWeights of_bias(PackedWeights& packed, std::span<const float> bias, std::uint32_t count, const OutputOrder& order) {
    return of_floats(packed, count, [=] {
        return transposed({.weights = bias, .inputs = 1, .padded_inputs = 1, .padded_outputs = count}, order);
    });
}

/// (4, hidden): initial sums of the gates r, z, n of the input and n of the state, where a product sums input and
/// state. For layer 0 only the last is used: its table has the others.
CudaWeights of_joint_bias(PackedWeights& packed, const GruShape& shape, const PaddedShape& padded,
                          const GruLayerWeights& weights) {
    const std::uint32_t hidden = shape.hidden;
    const std::uint32_t all = padded.hidden;
    return of_floats(packed, std::size_t{4} * all, [=] {
        std::vector<float> bias(std::size_t{4} * all);
        for (std::uint32_t unit = 0; unit < hidden; ++unit) {
            for (std::uint32_t gate = 0; gate < 2; ++gate) {
                bias[gate * all + unit] =
                    weights.hidden_bias[gate * hidden + unit] + weights.input_bias[gate * hidden + unit];
            }
            bias[2 * all + unit] = weights.input_bias[2 * hidden + unit];
            bias[3 * all + unit] = weights.hidden_bias[2 * hidden + unit];
        }
        return bias;
    });
}

/// (gate_columns): the first three of of_joint_bias().
CudaWeights of_table_bias(PackedWeights& packed, const GruShape& shape, const PaddedShape& padded,
                          const GruLayerWeights& weights) {
    const std::uint32_t hidden = shape.hidden;
    const std::uint32_t all = padded.hidden;
    return of_floats(packed, padded.gate_columns, [=, count = padded.gate_columns] {
        std::vector<float> bias(count);
        for (std::uint32_t unit = 0; unit < hidden; ++unit) {
            for (std::uint32_t gate = 0; gate < gate_count; ++gate) {
                const std::uint32_t from = gate * hidden + unit;
                bias[gate * all + unit] = weights.input_bias[from] + (gate < 2 ? weights.hidden_bias[from] : 0);
            }
        }
        return bias;
    });
}

}  // namespace

PaddedShape padded(const GruShape& shape, Precision precision) {
    const std::uint32_t hidden =
        rounded_up(shape.hidden, precision == Precision::fp32 ? ordered::product_depth : unit_group);
    return {.embedding = rounded_up(shape.embedding, ordered::product_depth),
            .hidden = hidden,
            .layers = shape.layers,
            .gate_columns = rounded_up(gate_count * hidden, ordered::product_columns)};
}

GeneratorWeights::GeneratorWeights(const GruShape& shape, Precision precision, const GruWeights& weights,
                                   PackedWeights& packed)
    : embedding_(of_floats(packed, std::size_t{gru_symbols} * padded(shape, precision).embedding,
                           [shape, precision, embedding = weights.embedding] {
                               return in_rows({.weights = embedding,
                                               .inputs = shape.embedding,
                                               .padded_inputs = padded(shape, precision).embedding,
                                               .padded_outputs = gru_symbols},
                                              one_to_one);
                           })),
      linear_(of_matrix(packed, precision,
                        {.weights = weights.linear,
                         .inputs = shape.hidden,
                         .padded_inputs = padded(shape, precision).hidden,
                         .padded_outputs = gru_symbols},
                        precision == Precision::fp32 ? one_to_one : score_of_column)),
      linear_bias_(of_bias(packed, weights.linear_bias, gru_symbols, one_to_one)) {
    expects(shape.layers >= 1 && weights.layers.size() == shape.layers, "gru: weights of another number of layers");
    expects(weights.embedding.size() == std::size_t{gru_symbols} * shape.embedding, "gru: embeddings of another size");
    const PaddedShape sizes = padded(shape, precision);
    const bool simt = precision == Precision::fp32;
    const OutputOrder apart = gates_apart(shape, sizes);
    for (const GruLayerWeights& layer : weights.layers) {
        const bool first = &layer == &weights.layers.front();
        Matrix input{.weights = layer.input,
                     .inputs = shape.hidden,
                     .padded_inputs = sizes.hidden,
                     .padded_outputs = simt ? sizes.gate_columns : gate_count * sizes.hidden};
        const Matrix hidden{.weights = layer.hidden,
                            .inputs = shape.hidden,
                            .padded_inputs = input.padded_inputs,
                            .padded_outputs = input.padded_outputs};
        if (first) {
            input.inputs = shape.embedding;
            input.padded_inputs = sizes.embedding;
            input.padded_outputs = sizes.gate_columns;
        }
        layers_.push_back({.input = of_matrix(packed, first ? Precision::fp32 : precision, input,
                                              first || simt ? apart : gates_in_groups(shape)),
                           .hidden = of_matrix(packed, precision, hidden, simt ? apart : gates_in_groups(shape)),
                           .input_bias = simt ? of_bias(packed, layer.input_bias, sizes.gate_columns, apart)
                                              : of_table_bias(packed, shape, sizes, layer),
                           .hidden_bias = simt ? of_bias(packed, layer.hidden_bias, sizes.gate_columns, apart)
                                               : of_joint_bias(packed, shape, sizes, layer)});
    }
}

WeightsOnDevice GeneratorWeights::on(Device& device) const {
    WeightsOnDevice result{
        .embedding = embedding_.on(device), .linear = linear_.on(device), .linear_bias = linear_bias_.on(device)};
    for (const Layer& layer : layers_) {
        result.layers.push_back({.input = layer.input.on(device),
                                 .hidden = layer.hidden.on(device),
                                 .input_bias = layer.input_bias.on(device),
                                 .hidden_bias = layer.hidden_bias.on(device)});
    }
    return result;
}

}  // namespace sluice::generator

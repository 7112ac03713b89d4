#include "apps/namegen/namegen_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "apps/tensor_values.hpp"
#include "core/error.hpp"
#include "kernels/philox.hpp"

namespace sluice::namegen {
namespace {

constexpr std::uint32_t most_layers = 4;
constexpr std::uint64_t largest_size = 1U << 16U;  // of an embedding or a state
constexpr std::size_t head_floats = 16;            // a cache line for the sizes
static_assert(sizeof(GruShape) <= head_floats * sizeof(float));

/// The columns of a matrix with a row a symbol.
std::uint32_t columns_of_symbols(const TensorReader& reader, const char* name) {
    const SafetensorsEntry* const entry = reader.find(name);
    if (entry == nullptr) {
        refuse_tensors(reader.where(), fmt::format("tensor {} is missing", quoted(name)));
    }
    const std::vector<std::uint64_t>& shape = entry->shape;
    if (shape.size() != 2 || shape[0] != gru_symbols || shape[1] == 0 || shape[1] > largest_size) {
        refuse_tensors(reader.where(), fmt::format("tensor {}: got shape [{}], expected [{},1..{}]", quoted(name),
                                                   fmt::join(shape, ","), gru_symbols, largest_size));
    }
    return static_cast<std::uint32_t>(shape[1]);
}

std::uint32_t layers_in(const TensorReader& reader) {
    std::uint32_t layers = 1;
    while (reader.find(fmt::format("gru.weight_hh_l{}", layers)) != nullptr) {
        ++layers;
    }
    if (layers > most_layers) {
        refuse_tensors(reader.where(), fmt::format("got {} layers, expected 1 to {}", layers, most_layers));
    }
    return layers;
}

GruShape shape_in(const TensorReader& reader) {
    if (reader.is_headerless()) {
        return headerless_namegen;
    }
    return {.embedding = columns_of_symbols(reader, "embedding.weight"),
            .hidden = columns_of_symbols(reader, "linear.weight"),
            .layers = layers_in(reader)};
}

WeightBlob blob_for(const GruShape& shape) {
    std::uint64_t count = head_floats;
    for (const TensorSpec& spec : namegen_tensors(shape)) {
        count += spec.elements();
    }
    WeightBlob blob = WeightBlob::of_floats(count);
    std::ranges::fill(blob.floats().first(head_floats), 0.0F);
    std::memcpy(blob.floats().data(), &shape, sizeof shape);
    return blob;
}

/// Uniform in (-bound, bound), value i of tensor `number` by its own counter.
void draw_tensor(std::uint64_t seed, std::uint32_t number, float bound, std::span<float> to) {
    for (std::size_t i = 0; i < to.size(); i += 4) {
        const Random128 random = random_words(seed, {.item = i / 4, .number = number});
        for (std::size_t j = i; j < std::min(i + 4, to.size()); ++j) {
            to[j] = (2 * uniform_below_one(random.words[j - i]) - 1) * bound;
        }
    }
}

}  // namespace

std::vector<TensorSpec> namegen_tensors(const GruShape& shape) {
    const std::uint64_t hidden = shape.hidden;
    const std::uint64_t gates = 3 * hidden;
    std::vector<TensorSpec> specs{{"embedding.weight", {gru_symbols, shape.embedding}}};
    const auto add_of_layers = [&](const char* name, const auto& shape_of_layer) {
        for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
            specs.push_back({fmt::format("gru.{}_l{}", name, layer), shape_of_layer(layer)});
        }
    };
    using Shape = std::vector<std::uint64_t>;
    add_of_layers("weight_ih", [&](std::uint32_t layer) {
        return Shape{gates, layer == 0 ? shape.embedding : hidden};
    });
    add_of_layers("weight_hh", [&](std::uint32_t) { return Shape{gates, hidden}; });
    add_of_layers("bias_ih", [&](std::uint32_t) { return Shape{gates}; });
    add_of_layers("bias_hh", [&](std::uint32_t) { return Shape{gates}; });
    specs.push_back({"linear.weight", {gru_symbols, hidden}});
    specs.push_back({"linear.bias", {gru_symbols}});
    return specs;
}

WeightBlob read_namegen_weights(const std::filesystem::path& path) {
    const TensorReader reader(path);
    const GruShape shape = shape_in(reader);
    const std::vector<TensorSpec> specs = namegen_tensors(shape);
    reader.check(specs);  // before room is made for what may not be there
    WeightBlob blob = blob_for(shape);
    reader.read(specs, namegen_tensor_values(blob));
    return blob;
}

WeightBlob random_namegen_weights(const GruShape& shape, std::uint64_t seed) {
    constexpr float embedding_bound = 1.7320508F;  // variance 1
    WeightBlob blob = blob_for(shape);
    TensorsInOrder take(namegen_tensor_values(blob));
    const float bound = 1 / std::sqrt(static_cast<float>(shape.hidden));
    std::uint32_t number = 0;
    for (const TensorSpec& spec : namegen_tensors(shape)) {
        draw_tensor(seed, number, number == 0 ? embedding_bound : bound, take(spec.elements()));
        ++number;
    }
    return blob;
}

GruShape shape_of_namegen(const WeightBlob& blob) {
    GruShape shape{};
    std::memcpy(&shape, blob.floats().data(), sizeof shape);
    return shape;
}

std::span<float> namegen_tensor_values(const WeightBlob& blob) {
    return blob.floats().subspan(head_floats);
}

GruWeights namegen_weights(const WeightBlob& blob) {
    const GruShape shape = shape_of_namegen(blob);
    TensorsInOrder take(namegen_tensor_values(blob));
    const std::size_t gates = 3 * std::size_t{shape.hidden};
    GruWeights weights{.embedding = take(std::size_t{gru_symbols} * shape.embedding),
                       .layers = std::vector<GruLayerWeights>(shape.layers),
                       .linear = {},
                       .linear_bias = {}};
    for (GruLayerWeights& layer : weights.layers) {
        layer.input = take(gates * (&layer == &weights.layers.front() ? shape.embedding : shape.hidden));
    }
    for (GruLayerWeights& layer : weights.layers) {
        layer.hidden = take(gates * shape.hidden);
    }
    for (GruLayerWeights& layer : weights.layers) {
        layer.input_bias = take(gates);
    }
    for (GruLayerWeights& layer : weights.layers) {
        layer.hidden_bias = take(gates);
    }
    weights.linear = take(std::size_t{gru_symbols} * shape.hidden);
    weights.linear_bias = take(gru_symbols);
    return weights;
}

}  // namespace sluice::namegen

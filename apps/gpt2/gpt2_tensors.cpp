#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "apps/gpt2/tensors.hpp"

namespace sluice::gpt2 {
namespace {

/// "0", "1", "10", "11", "2", …
std::vector<std::uint32_t> blocks_by_text(std::uint32_t layers) {
    std::vector<std::string> names;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        names.push_back(fmt::format("{}", layer));
    }
    std::ranges::sort(names);
    std::vector<std::uint32_t> blocks(layers);
    std::ranges::transform(names, blocks.begin(),
                           [](const std::string& name) { return static_cast<std::uint32_t>(std::stoul(name)); });
    return blocks;
}

}  // namespace

std::vector<TensorSpec> gpt2_tensors(const DecoderShape& shape) {
    const std::uint64_t width = shape.width;
    const std::uint64_t inner = shape.inner;
    std::vector<TensorSpec> specs;
    for (const std::uint32_t block : blocks_by_text(shape.layers)) {
        const auto add = [&](const char* name, std::vector<std::uint64_t> dims) {
            specs.push_back({fmt::format("h.{}.{}", block, name), std::move(dims)});
        };
        add("attn.c_attn.bias", {3 * width});
        add("attn.c_attn.weight", {width, 3 * width});
        add("attn.c_proj.bias", {width});
        add("attn.c_proj.weight", {width, width});
        add("ln_1.bias", {width});
        add("ln_1.weight", {width});
        add("ln_2.bias", {width});
        add("ln_2.weight", {width});
        add("mlp.c_fc.bias", {inner});
        add("mlp.c_fc.weight", {width, inner});
        add("mlp.c_proj.bias", {width});
        add("mlp.c_proj.weight", {inner, width});
    }
    specs.push_back({"ln_f.bias", {width}});
    specs.push_back({"ln_f.weight", {width}});
    specs.push_back({"wpe.weight", {shape.positions, width}});
    specs.push_back({"wte.weight", {shape.vocabulary, width}});
    return specs;
}

DecoderWeights gpt2_weights(const DecoderShape& shape, TensorsInMemory take) {
    const std::size_t width = shape.width;
    const auto take_linear = [&](std::size_t inputs, std::size_t outputs) {
        const auto bias = take(outputs);
        return DecoderLinear{.weights = take(inputs * outputs), .bias = bias};
    };
    const auto take_norm = [&] {
        const auto beta = take(width);
        return DecoderNorm{.gamma = take(width), .beta = beta};
    };
    DecoderWeights weights{.tokens = {}, .positions = {}, .last_norm = {}};
    weights.blocks.resize(shape.layers);
    for (const std::uint32_t number : blocks_by_text(shape.layers)) {
        DecoderBlockWeights& block = weights.blocks[number];
        block.attention = take_linear(width, 3 * width);
        block.projection = take_linear(width, width);
        block.attention_norm = take_norm();
        block.inner_norm = take_norm();
        block.expansion = take_linear(width, shape.inner);
        block.contraction = take_linear(shape.inner, width);
    }
    weights.last_norm = take_norm();
    weights.positions = take(shape.positions * width);
    weights.tokens = take(shape.vocabulary * width);
    return weights;
}

}  // namespace sluice::gpt2

#include <fmt/format.h>

#include <string>
#include <utility>

#include "apps/gpt2/tensors.hpp"

namespace sluice::gpt2 {

std::vector<TensorSpec> llama_tensors(const Config& config) {
    const DecoderShape& shape = config.shape;
    const std::uint64_t width = shape.width;
    const std::uint64_t queries = shape.query_width();
    const std::uint64_t keys = shape.key_width();
    const std::uint64_t inner = shape.inner;
    std::vector<TensorSpec> specs;
    for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
        const auto add = [&](const char* name, std::vector<std::uint64_t> dims) {
            specs.push_back({fmt::format("layers.{}.{}", layer, name), std::move(dims)});
        };
        add("input_layernorm.weight", {width});
        add("self_attn.q_proj.weight", {queries, width});
        add("self_attn.k_proj.weight", {keys, width});
        add("self_attn.v_proj.weight", {keys, width});
        if (config.has_query_bias) {
            add("self_attn.q_proj.bias", {queries});
            add("self_attn.k_proj.bias", {keys});
            add("self_attn.v_proj.bias", {keys});
        }
        add("self_attn.o_proj.weight", {width, queries});
        if (config.has_projection_bias) {
            add("self_attn.o_proj.bias", {width});
        }
        add("post_attention_layernorm.weight", {width});
        add("mlp.gate_proj.weight", {inner, width});
        add("mlp.up_proj.weight", {inner, width});
        if (config.has_inner_bias) {
            add("mlp.gate_proj.bias", {inner});
            add("mlp.up_proj.bias", {inner});
        }
        add("mlp.down_proj.weight", {width, inner});
        if (config.has_inner_bias) {
            add("mlp.down_proj.bias", {width});
        }
    }
    specs.push_back({"norm.weight", {width}});
    specs.push_back({"embed_tokens.weight", {shape.vocabulary, width}});
    if (config.has_own_head) {
        specs.push_back({"lm_head.weight", {shape.vocabulary, width}});
    }
    return specs;
}

DecoderWeights llama_weights(const Config& config, TensorsInMemory take) {
    const DecoderShape& shape = config.shape;
    const std::size_t width = shape.width;
    const auto take_linear = [&](std::size_t inputs, std::size_t outputs, bool has_bias) {
        const auto weights = take(inputs * outputs);
        return DecoderLinear{
            .weights = weights, .bias = take(has_bias ? outputs : 0), .order = MatrixOrder::by_outputs};
    };
    const auto take_norm = [&] { return DecoderNorm{.gamma = take(width)}; };
    DecoderWeights weights{.tokens = {}, .positions = {}, .last_norm = {}};
    weights.blocks.resize(shape.layers);
    for (DecoderBlockWeights& block : weights.blocks) {
        block.attention_norm = take_norm();
        block.attention = take_linear(width, shape.attention_width(), config.has_query_bias);
        block.projection = take_linear(shape.query_width(), width, config.has_projection_bias);
        block.inner_norm = take_norm();
        block.expansion = take_linear(width, shape.expanded_width(), config.has_inner_bias);
        block.contraction = take_linear(shape.inner, width, config.has_inner_bias);
    }
    weights.last_norm = take_norm();
    weights.tokens = take(shape.vocabulary * width);
    weights.head = take(config.has_own_head ? shape.vocabulary * width : 0);
    return weights;
}

bool continues_matrix(const TensorSpec& tensor) {
    const auto has = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
    return has(".k_proj.") || has(".v_proj.") || has(".up_proj.");
}

}  // namespace sluice::gpt2

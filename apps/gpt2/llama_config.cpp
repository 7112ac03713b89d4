#include "apps/gpt2/llama_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

constexpr double highest_base = 1e12;
constexpr double highest_stretch = 1e6;
constexpr std::array<std::string_view, 3> model_types{"llama", "mistral", "qwen2"};

DecoderActivation read_activation(const ConfigReader& reader) {
    const std::string name = reader.text("hidden_act", "silu");
    if (name == "silu" || name == "swish") {
        return DecoderActivation::silu;
    }
    if (name == "gelu_pytorch_tanh" || name == "gelu_new") {
        return DecoderActivation::gelu_tanh;
    }
    if (name == "gelu") {
        return DecoderActivation::gelu_erf;
    }
    reader.refuse(fmt::format("hidden_act is {}, expected \"silu\", \"gelu\" or \"gelu_pytorch_tanh\"", quoted(name)));
}

/// The frequencies' stretch that `rope` says: what config.json calls rope_scaling, or since 2025 rope_parameters.
RotaryStretch read_stretch(const ConfigReader& rope) {
    if (!rope.has("rope_type") && !rope.has("type")) {
        rope.refuse_other_than({"rope_theta", "partial_rotary_factor"}, "no rope_type, which says what it is for");
    }
    const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
    if (type == "default") {
        return {};
    }
    if (type != "llama3") {
        rope.refuse(fmt::format("positions are scaled by {}, expected \"default\" or \"llama3\"", quoted(type)));
    }
    RotaryStretch stretch;
    for (const char* const name : {"factor", "low_freq_factor", "high_freq_factor"}) {
        if (!rope.has(name)) {
            rope.refuse(fmt::format("scaled positions without {}", name));
        }
    }
    stretch.factor = rope.positive("factor", 1, highest_stretch);
    stretch.low_frequency = rope.positive("low_freq_factor", 1, highest_stretch);
    stretch.high_frequency = rope.positive("high_freq_factor", 4, highest_stretch);
    stretch.original_positions = static_cast<float>(rope.size("original_max_position_embeddings"));
    if (stretch.high_frequency <= stretch.low_frequency) {
        rope.refuse(fmt::format("high_freq_factor is {}, expected more than low_freq_factor = {}",
                                stretch.high_frequency, stretch.low_frequency));
    }
    return stretch;
}

RotaryPositions read_rotary(const ConfigReader& reader) {
    constexpr float usual_base = 10000;
    if (reader.has("rope_parameters") && reader.has("rope_scaling")) {
        reader.refuse("has both rope_parameters and rope_scaling, expected one of them");
    }
    const ConfigReader rope = reader.object(reader.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
    reader.expect("partial_rotary_factor", 1.0);
    rope.expect("partial_rotary_factor", 1.0);
    const float base =
        rope.positive("rope_theta", reader.positive("rope_theta", usual_base, highest_base), highest_base);
    return {.base = base, .stretch = read_stretch(rope)};
}

/// Attention to all positions before, in every layer.
void check_windows(const ConfigReader& reader, std::string_view type, std::uint32_t positions) {
    constexpr std::uint32_t window_of_mistral = 4096;  // where it is left out
    if (type == "qwen2") {
        reader.expect("use_sliding_window", false);
    } else if (type == "mistral") {
        const bool is_null = reader.is_null("sliding_window");
        const std::uint32_t window = is_null ? positions : reader.size_or("sliding_window", window_of_mistral);
        if (window < positions) {
            reader.refuse(fmt::format("sliding_window is {}, expected null, or all {} positions", window, positions));
        }
    }
    const auto& layers = reader.at("layer_types");
    if (!layers.is_null() && !(layers.is_array() && std::ranges::all_of(layers, [](const auto& layer) {
                                   return layer == "full_attention";
                               }))) {
        reader.refuse(fmt::format("layer_types is {}, expected \"full_attention\" in all", escaped(layers.dump())));
    }
}

/// Heads of keys, and their size.
void read_heads(const ConfigReader& reader, std::string_view type, DecoderShape& shape) {
    shape.heads = reader.size("num_attention_heads");
    if (type != "llama" && !reader.has("num_key_value_heads")) {
        reader.refuse("says no num_key_value_heads");
    }
    shape.key_heads = reader.size_or("num_key_value_heads", shape.heads);
    if (shape.heads % shape.key_heads != 0) {
        reader.refuse(fmt::format("num_attention_heads is {}, expected a multiple of num_key_value_heads = {}",
                                  shape.heads, shape.key_heads));
    }
    if (!reader.has("head_dim") && shape.width % shape.heads != 0) {
        reader.refuse(fmt::format("hidden_size is {}, expected a multiple of num_attention_heads = {}", shape.width,
                                  shape.heads));
    }
    shape.head_size = reader.size_or("head_dim", shape.width / shape.heads);
    if (shape.head_size % 2 != 0) {
        reader.refuse(fmt::format("heads have {} values, expected an even number", shape.head_size));
    }
    if (std::uint64_t{shape.heads} * shape.head_size > ConfigReader::largest_size) {
        reader.refuse(fmt::format("{} heads of {} values, expected at most {} values in all", shape.heads,
                                  shape.head_size, ConfigReader::largest_size));
    }
}

}  // namespace

bool is_llama_config(const ConfigReader& reader) {
    return std::ranges::find(model_types, reader.text("model_type", "")) != model_types.end();
}

Config read_llama_config(const ConfigReader& reader) {
    const std::string type = reader.text("model_type", "");
    Config config{.family = Family::llama};
    DecoderShape& shape = config.shape;
    shape.vocabulary = reader.size("vocab_size");
    shape.positions = reader.size("max_position_embeddings");
    shape.width = reader.size("hidden_size");
    shape.layers = reader.size("num_hidden_layers", ConfigReader::most_layers);
    read_heads(reader, type, shape);
    shape.inner = reader.size("intermediate_size");
    shape.norm_epsilon = reader.positive("rms_norm_eps", 1e-6F);
    shape.normalisation = DecoderNormalisation::rms;
    shape.activation = read_activation(reader);
    shape.gated = true;
    shape.rotary = read_rotary(reader);
    check_windows(reader, type, shape.positions);
    config.has_own_head = !reader.flag("tie_word_embeddings", false);
    if (type == "llama") {
        config.has_query_bias = config.has_projection_bias = reader.flag("attention_bias", false);
        config.has_inner_bias = reader.flag("mlp_bias", false);
    } else {
        config.has_query_bias = type == "qwen2";
    }
    config.begin = reader.token("bos_token_id", shape.vocabulary);
    config.end = reader.end_tokens("eos_token_id", shape.vocabulary);
    return config;
}

}  // namespace sluice::gpt2

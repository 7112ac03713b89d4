#include "tests/support/gpt2_files.hpp"

#include <cstddef>

#include "tests/support/files.hpp"
#include "tests/support/safetensors_writer.hpp"

namespace sluice::test {

std::string spelt(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        unsigned character = byte;
        if (byte <= ' ') {
            character = 0x100U + byte;
        } else if (byte >= 0x7F && byte <= 0xA0) {
            character = 0x121U + byte - 0x7FU;
        } else if (byte == 0xAD) {
            character = 0x143;
        }
        if (character < 0x80) {
            text += static_cast<char>(character);
        } else {
            text += static_cast<char>(0xC0U | character >> 6U);
            text += static_cast<char>(0x80U | (character & 0x3FU));
        }
    }
    return text;
}

std::vector<std::string> small_vocabulary() {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
        tokens.emplace_back(1, static_cast<char>(byte));
    }
    tokens.insert(tokens.end(), {"th", "the", " the", "<|endoftext|>"});
    return tokens;
}

nlohmann::json spelt_vocabulary() {
    nlohmann::json vocabulary;
    const std::vector<std::string> tokens = small_vocabulary();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        vocabulary[spelt(tokens[i])] = i;
    }
    return vocabulary;
}

gpt2::Config small_config() {
    const auto vocabulary = static_cast<std::uint32_t>(small_vocabulary().size());
    return {{.vocabulary = vocabulary, .positions = 48, .width = 24, .layers = 11, .heads = 3, .inner = 40},
            vocabulary - 1,
            vocabulary - 1};
}

gpt2::Config small_llama_config() {
    gpt2::Config config = small_config();
    config.shape = {.vocabulary = config.shape.vocabulary,
                    .positions = 48,
                    .width = 24,
                    .layers = 2,
                    .heads = 4,
                    .inner = 40,
                    .norm_epsilon = 1e-6F,
                    .head_size = 8,
                    .key_heads = 2,
                    .normalisation = DecoderNormalisation::rms,
                    .activation = DecoderActivation::silu,
                    .gated = true,
                    .rotary = RotaryPositions{.base = 5000}};
    config.family = gpt2::Family::llama;
    config.has_own_head = true;
    return config;
}

namespace {

nlohmann::json llama_json(const gpt2::Config& config) {
    const DecoderShape& shape = config.shape;
    return {{"model_type", "llama"},
            {"hidden_act", "silu"},
            {"vocab_size", shape.vocabulary},
            {"max_position_embeddings", shape.positions},
            {"hidden_size", shape.width},
            {"num_hidden_layers", shape.layers},
            {"num_attention_heads", shape.heads},
            {"num_key_value_heads", shape.key_heads},
            {"head_dim", shape.head_size},
            {"intermediate_size", shape.inner},
            {"rms_norm_eps", shape.norm_epsilon},
            {"rope_theta", shape.rotary->base},
            {"attention_bias", config.has_query_bias},
            {"mlp_bias", config.has_inner_bias},
            {"tie_word_embeddings", !config.has_own_head},
            {"bos_token_id", config.begin.value()},
            {"eos_token_id", config.end.value()}};
}

}  // namespace

nlohmann::json config_json(const gpt2::Config& config) {
    if (config.family == gpt2::Family::llama) {
        return llama_json(config);
    }
    const DecoderShape& shape = config.shape;
    return {{"model_type", "gpt2"},
            {"activation_function", "gelu_new"},
            {"vocab_size", shape.vocabulary},
            {"n_positions", shape.positions},
            {"n_embd", shape.width},
            {"n_layer", shape.layers},
            {"n_head", shape.heads},
            {"n_inner", shape.inner},
            {"layer_norm_epsilon", shape.norm_epsilon},
            {"bos_token_id", config.begin.value()},
            {"eos_token_id", config.end.value()}};
}

void write_checkpoint(const std::filesystem::path& folder, const WeightBlob& weights, const std::string& prefix) {
    const gpt2::Config config = gpt2::config_of(weights);
    std::vector<TensorSpec> specs = gpt2::tensors_of(config);
    for (TensorSpec& spec : specs) {
        spec.name = spec.name == "lm_head.weight" ? spec.name : prefix + spec.name;
    }
    write_safetensors(folder / "model.safetensors", specs, gpt2_values(weights));
    write_file(folder / "config.json", config_json(config).dump());
    write_file(folder / "vocab.json", spelt_vocabulary().dump());
    write_file(folder / "merges.txt", small_merges);
}

std::span<float> gpt2_values(const WeightBlob& weights) {
    std::size_t count = 0;
    for (const TensorSpec& spec : gpt2::tensors_of(gpt2::config_of(weights))) {
        count += static_cast<std::size_t>(spec.elements());
    }
    return weights.floats().last(count);
}

}  // namespace sluice::test

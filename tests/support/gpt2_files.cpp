#include "tests/support/gpt2_files.hpp"

#include <cstddef>
#include <string>

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

nlohmann::json tokenizer_json() {
    return {{"model", {{"type", "BPE"}, {"vocab", spelt_vocabulary()}, {"merges", {"t h", "th e", "\u0120 the"}}}},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
            {"added_tokens", {{{"id", 259}, {"content", "<|endoftext|>"}}}}};
}

nlohmann::json llama_tokenizer_json() {
    nlohmann::json json = tokenizer_json();
    json["model"]["ignore_merges"] = true;
    json["pre_tokenizer"] = nlohmann::json::parse(R"({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})");
    json["post_processor"] = nlohmann::json::parse(R"({"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
        {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "B", "type_id": 0}},
         {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"B": {"id": "B", "ids": [258]}}}]})");
    return json;
}

nlohmann::json qwen_tokenizer_json() {
    nlohmann::json json = llama_tokenizer_json();
    json["model"]["ignore_merges"] = false;
    std::string regex = json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
    json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = regex.replace(regex.find("{1,3}"), 5, "");
    json["post_processor"] = {{"type", "ByteLevel"}};
    json["normalizer"] = {{"type", "NFC"}};
    json["added_tokens"].push_back({{"id", 260}, {"content", "<think>"}, {"special", false}, {"normalized", false}});
    return json;
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
            {"eos_token_id", config.end.tokens()[0]}};
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
            {"eos_token_id", config.end.tokens()[0]}};
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

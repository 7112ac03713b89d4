#include "apps/gpt2/config.hpp"

#include <fmt/format.h>

#include "apps/gpt2/config_reader.hpp"
#include "apps/gpt2/llama_config.hpp"
#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

Config read_gpt2_config(const ConfigReader& reader) {
    if (const std::string type = reader.text("model_type", "gpt2"); type != "gpt2") {
        reader.refuse(fmt::format("model_type is {}, expected \"gpt2\", \"llama\", \"mistral\" or \"qwen2\"",
                                  escaped(reader.at("model_type").dump())));
    }
    if (const std::string activation = reader.text("activation_function", "gelu_new");
        activation != "gelu_new" && activation != "gelu_pytorch_tanh") {
        reader.refuse(fmt::format("activation_function is {}, expected \"gelu_new\"",
                                  escaped(reader.at("activation_function").dump())));
    }
    reader.expect("scale_attn_weights", true);
    reader.expect("scale_attn_by_inverse_layer_idx", false);
    reader.expect("add_cross_attention", false);
    reader.expect("tie_word_embeddings", true);
    Config config;
    DecoderShape& shape = config.shape;
    shape.vocabulary = reader.size("vocab_size");
    shape.positions = reader.size(reader.has("n_positions") ? "n_positions" : "n_ctx");
    shape.width = reader.size("n_embd");
    shape.layers = reader.size("n_layer", ConfigReader::most_layers);
    shape.heads = reader.size("n_head");
    shape.inner = reader.size_or("n_inner", 4 * shape.width);
    shape.norm_epsilon = reader.positive("layer_norm_epsilon", shape.norm_epsilon);
    if (shape.width % shape.heads != 0) {
        reader.refuse(fmt::format("n_embd is {}, expected a multiple of n_head = {}", shape.width, shape.heads));
    }
    config.begin = reader.token("bos_token_id", shape.vocabulary);
    config.end = reader.end_tokens("eos_token_id", shape.vocabulary);
    return config;
}

/// What any family's config.json may say, and makes another model.
void check_variant(const ConfigReader& reader) {
    reader.expect("is_causal", true);
    if (reader.has("quantization_config")) {
        reader.refuse("the weights are quantised (quantization_config), expected floating-point numbers");
    }
}

}  // namespace

Config default_config() {
    constexpr std::uint32_t width = 768;
    constexpr std::uint32_t vocabulary = 50257;
    return {
        {.vocabulary = vocabulary, .positions = 1024, .width = width, .layers = 12, .heads = 12, .inner = 4 * width},
        vocabulary - 1,
        vocabulary - 1};
}

Config read_config(const std::filesystem::path& file, const std::optional<std::filesystem::path>& generation) {
    const ConfigReader reader(file);
    check_variant(reader);
    Config config = is_llama_config(reader) ? read_llama_config(reader) : read_gpt2_config(reader);
    if (generation) {
        const ConfigReader chosen(*generation);
        if (chosen.has("bos_token_id")) {
            config.begin = chosen.token("bos_token_id", config.shape.vocabulary);
        }
        if (chosen.has("eos_token_id")) {
            config.end = chosen.end_tokens("eos_token_id", config.shape.vocabulary);
        }
    }
    return config;
}

}  // namespace sluice::gpt2

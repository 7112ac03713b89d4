#include "apps/gpt2/config.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "apps/gpt2/side_file.hpp"
#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

using nlohmann::json;

constexpr std::uint32_t largest_size = 1U << 20U;  // of any number in config.json; their products fit 64 bits
constexpr std::uint32_t most_layers = 1000;        // each costs memory before the weights are known to have it
constexpr SideFileErrors config_errors{"E-MOD-170", "use a GPT-2 checkpoint"};

class ConfigReader {
public:
    ConfigReader(json values, std::string where) : values_(std::move(values)), where_(std::move(where)) {
        if (!values_.is_object()) {
            refuse_side_file(config_errors, where_, "expected a JSON object");
        }
    }

    [[nodiscard]] std::uint32_t size(const char* name, std::uint32_t most = largest_size) const {
        const json& value = at(name);
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 || value.get<std::uint64_t>() > most) {
            refuse_side_file(config_errors, where_,
                             fmt::format("{} is {}, expected 1 to {}", name, escaped(value.dump()), most));
        }
        return value.get<std::uint32_t>();
    }

    [[nodiscard]] bool has(const char* name) const { return !at(name).is_null(); }

    [[nodiscard]] float positive(const char* name, float fallback) const {
        const json& value = at(name);
        if (value.is_null()) {
            return fallback;
        }
        if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > 1) {
            refuse_side_file(
                config_errors, where_,
                fmt::format("{} is {}, expected a number above 0 and up to 1", name, escaped(value.dump())));
        }
        return value.get<float>();
    }

    /// Left out is as good as `expected`.
    void expect(const char* name, const json& expected) const {
        const json& value = at(name);
        if (!value.is_null() && value != expected) {
            refuse_side_file(config_errors, where_,
                             fmt::format("{} is {}, expected {}", name, escaped(value.dump()), expected.dump()));
        }
    }

    void expect_activation() const {
        const json& value = at("activation_function");
        if (!value.is_null() && value != "gelu_new" && value != "gelu_pytorch_tanh") {
            refuse_side_file(config_errors, where_,
                             fmt::format("activation_function is {}, expected \"gelu_new\"", escaped(value.dump())));
        }
    }

    [[nodiscard]] std::optional<std::uint32_t> token(const char* name, std::uint32_t vocabulary) const {
        const json& value = at(name);
        if (value.is_null()) {
            return std::nullopt;
        }
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= vocabulary) {
            refuse_side_file(config_errors, where_,
                             fmt::format("{} is {}, expected 0 to {}", name, escaped(value.dump()), vocabulary - 1));
        }
        return value.get<std::uint32_t>();
    }

    [[nodiscard]] const std::string& where() const noexcept { return where_; }

private:
    [[nodiscard]] const json& at(const char* name) const {
        static const json null;
        const auto found = values_.find(name);
        return found == values_.end() ? null : *found;
    }

    json values_;
    std::string where_;
};

}  // namespace

Config default_config() {
    constexpr std::uint32_t width = 768;
    constexpr std::uint32_t vocabulary = 50257;
    return {
        {.vocabulary = vocabulary, .positions = 1024, .width = width, .layers = 12, .heads = 12, .inner = 4 * width},
        vocabulary - 1,
        vocabulary - 1};
}

Config read_config(const std::filesystem::path& file) {
    const SideFile text = read_side_file(file, config_errors);
    const ConfigReader reader(parse_json(text, config_errors), text.where);
    reader.expect("model_type", "gpt2");
    reader.expect_activation();
    reader.expect("scale_attn_weights", true);
    reader.expect("scale_attn_by_inverse_layer_idx", false);
    reader.expect("add_cross_attention", false);
    reader.expect("tie_word_embeddings", true);
    Config config;
    DecoderShape& shape = config.shape;
    shape.vocabulary = reader.size("vocab_size");
    shape.positions = reader.size(reader.has("n_positions") ? "n_positions" : "n_ctx");
    shape.width = reader.size("n_embd");
    shape.layers = reader.size("n_layer", most_layers);
    shape.heads = reader.size("n_head");
    shape.inner = reader.has("n_inner") ? reader.size("n_inner") : 4 * shape.width;
    shape.norm_epsilon = reader.positive("layer_norm_epsilon", shape.norm_epsilon);
    if (shape.width % shape.heads != 0) {
        refuse_side_file(config_errors, reader.where(),
                         fmt::format("n_embd is {}, expected a multiple of n_head = {}", shape.width, shape.heads));
    }
    config.begin = reader.token("bos_token_id", shape.vocabulary);
    config.end = reader.token("eos_token_id", shape.vocabulary);
    return config;
}

}  // namespace sluice::gpt2

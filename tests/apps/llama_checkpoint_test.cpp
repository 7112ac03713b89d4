#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

class LlamaCheckpoint : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_.path() / name; }

    [[nodiscard]] WeightBlob read() const { return read_checkpoint(file("model.safetensors"), file("config.json")); }

    [[nodiscard]] Config changed(const std::function<void(nlohmann::json&)>& change) const {
        nlohmann::json json = test::config_json(config_);
        change(json);
        test::write_file(file("config.json"), json.dump());
        return read_config(file("config.json"));
    }
    [[nodiscard]] std::string refusal_of(const std::function<void(nlohmann::json&)>& change) const {
        return test::bad_data_of([&] { return changed(change); });
    }

    TemporaryFolder folder_;
    Config config_ = test::small_llama_config();
};

TEST_F(LlamaCheckpoint, ComesBackAsItWasWritten) {
    std::vector<Config> configs(3, config_);
    configs[1].has_own_head = false;
    configs[2].has_query_bias = configs[2].has_projection_bias = configs[2].has_inner_bias = true;
    for (const Config& config : configs) {
        const WeightBlob weights = random_checkpoint(config, 3);
        for (const char* const prefix : {"", "model."}) {
            test::write_checkpoint(folder_.path(), weights, prefix);

            const WeightBlob blob = read();

            EXPECT_EQ(config_of(blob), config);
            EXPECT_TRUE(std::ranges::equal(test::gpt2_values(blob), test::gpt2_values(weights)));
        }
    }
}

/// Queries, keys and values, and gates and what they multiply, become one matrix each.
TEST_F(LlamaCheckpoint, KnowsItsMatrices) {
    config_.has_query_bias = config_.has_projection_bias = config_.has_inner_bias = true;
    const WeightBlob blob = random_checkpoint(config_, 4);
    const std::span<const float> values = test::gpt2_values(blob);
    const auto tensor = [&](std::string_view name) {
        std::size_t at = 0;
        for (const TensorSpec& spec : tensors_of(config_)) {
            if (spec.name == name) {
                return values.subspan(at, static_cast<std::size_t>(spec.elements()));
            }
            at += static_cast<std::size_t>(spec.elements());
        }
        ADD_FAILURE() << name;
        return values.first(0);
    };
    const auto expect_parts = [&](const WeightValues& whole, std::initializer_list<const char*> parts) {
        std::size_t at = 0;
        for (const char* const name : parts) {
            const std::span<const float> part = tensor(name);
            ASSERT_LE(at + part.size(), whole.size()) << name;
            EXPECT_EQ(whole.subspan(at, part.size()).bytes().data(), std::as_bytes(part).data()) << name;
            at += part.size();
        }
        EXPECT_EQ(at, whole.size());
    };

    const DecoderWeights weights = weights_of(blob);

    const DecoderBlockWeights& block = weights.blocks[1];
    EXPECT_EQ(block.attention.order, MatrixOrder::by_outputs);
    expect_parts(block.attention.weights, {"layers.1.self_attn.q_proj.weight", "layers.1.self_attn.k_proj.weight",
                                           "layers.1.self_attn.v_proj.weight"});
    expect_parts(block.attention.bias, {"layers.1.self_attn.q_proj.bias", "layers.1.self_attn.k_proj.bias",
                                        "layers.1.self_attn.v_proj.bias"});
    expect_parts(block.projection.weights, {"layers.1.self_attn.o_proj.weight"});
    expect_parts(block.projection.bias, {"layers.1.self_attn.o_proj.bias"});
    expect_parts(block.expansion.weights, {"layers.1.mlp.gate_proj.weight", "layers.1.mlp.up_proj.weight"});
    expect_parts(block.expansion.bias, {"layers.1.mlp.gate_proj.bias", "layers.1.mlp.up_proj.bias"});
    expect_parts(block.contraction.weights, {"layers.1.mlp.down_proj.weight"});
    expect_parts(block.contraction.bias, {"layers.1.mlp.down_proj.bias"});
    expect_parts(block.attention_norm.gamma, {"layers.1.input_layernorm.weight"});
    expect_parts(block.inner_norm.gamma, {"layers.1.post_attention_layernorm.weight"});
    expect_parts(weights.last_norm.gamma, {"norm.weight"});
    expect_parts(weights.tokens, {"embed_tokens.weight"});
    expect_parts(weights.head, {"lm_head.weight"});
    EXPECT_TRUE(weights.positions.empty());
    EXPECT_TRUE(block.attention_norm.beta.empty());
}

TEST_F(LlamaCheckpoint, MayHoldWhatOtherProgramsKeepBesideIt) {
    config_.has_own_head = false;
    const WeightBlob weights = random_checkpoint(config_, 5);
    test::write_checkpoint(folder_.path(), weights);
    std::vector<TensorSpec> specs = tensors_of(config_);
    std::vector<float> values(test::gpt2_values(weights).begin(), test::gpt2_values(weights).end());
    const std::vector<float> tokens(values.end() - static_cast<std::ptrdiff_t>(specs.back().elements()), values.end());
    specs.push_back({"lm_head.weight", specs.back().shape});
    values.insert(values.end(), tokens.begin(), tokens.end());
    specs.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {4}});
    values.resize(values.size() + 4);
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_TRUE(std::ranges::equal(test::gpt2_values(read()), test::gpt2_values(weights)));

    values[values.size() - 5] += 1;
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-MOD-047 tensor 'lm_head.weight' is not the token embeddings once more");
    values[values.size() - 5] -= 1;
    specs.push_back({"layers.0.self_attn.q_norm.weight", {4}});
    values.resize(values.size() + 4);
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_THAT(test::bad_data_of([&] { return read(); }),
                testing::HasSubstr("E-MOD-047 tensor 'layers.0.self_attn.q_norm.weight'"));
}

/// A run's identity has all bytes.
TEST_F(LlamaCheckpoint, HasTheSameBytesWhateverLayInMemory) {
    config_.begin.reset();
    config_.end = {};
    const auto bytes_of = [&](unsigned char filling) {
        alignas(Config) std::array<unsigned char, sizeof(Config)> memory{};
        memory.fill(filling);
        auto* const config = new (memory.data()) Config(config_);
        const WeightBlob blob = random_checkpoint(*config, 5);
        EXPECT_EQ(config_of(blob), config_);
        std::destroy_at(config);
        return std::vector<float>(blob.floats().begin(), blob.floats().end());
    };
    const std::vector<float> first = bytes_of(0x00);
    const std::vector<float> second = bytes_of(0xa5);
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

TEST_F(LlamaCheckpoint, TakesBeginAndEndOfItsGenerationConfig) {
    test::write_file(file("config.json"), test::config_json(config_).dump());
    const auto read_with = [&](const char* generation) {
        test::write_file(file("generation_config.json"), generation);
        return read_config(file("config.json"), file("generation_config.json"));
    };

    EXPECT_EQ(read_with(R"({"temperature": 0.6, "eos_token_id": null})"), config_);
    Config expected = config_;
    expected.begin = 9;
    expected.end = EndTokens(std::array{7U, 3U});
    EXPECT_EQ(read_with(R"({"bos_token_id": 9, "eos_token_id": [7, 3]})"), expected);
    EXPECT_EQ(test::bad_data_of([&] { return read_with(R"({"eos_token_id": 260})"); }),
              "E-MOD-170 eos_token_id is 260, expected 0 to 259");
}

TEST_F(LlamaCheckpoint, HasTheConfigsOfItsFamily) {
    EXPECT_EQ(changed([](auto&) {}), config_);
    const Config plain = changed([](auto& c) {
        for (const char* const name : {"num_key_value_heads", "head_dim", "rope_theta", "rms_norm_eps", "hidden_act",
                                       "attention_bias", "mlp_bias", "tie_word_embeddings", "bos_token_id"}) {
            c.erase(name);
        }
        c["eos_token_id"] = {7, 3};
        c["rope_scaling"] = nullptr;
        c["sliding_window"] = 16;  // Llama's classes do not read it
    });
    EXPECT_EQ(plain.shape.heads_of_keys(), 4U);
    EXPECT_EQ(plain.shape.size_of_head(), 6U);
    EXPECT_EQ(plain.shape.rotary, RotaryPositions{});
    EXPECT_EQ(plain.shape.norm_epsilon, 1e-6F);
    EXPECT_TRUE(plain.has_own_head);
    EXPECT_EQ(plain.begin, std::nullopt);
    EXPECT_EQ(plain.end, EndTokens(std::array{7U, 3U}));
    const nlohmann::json stretched{{"rope_type", "llama3"},
                                   {"factor", 8},
                                   {"low_freq_factor", 2},
                                   {"high_freq_factor", 6},
                                   {"original_max_position_embeddings", 16}};
    const RotaryPositions expected{
        .base = 5000, .stretch = {.factor = 8, .low_frequency = 2, .high_frequency = 6, .original_positions = 16}};
    EXPECT_EQ(changed([&](auto& c) { c["rope_scaling"] = stretched; }).shape.rotary, expected);
    EXPECT_EQ(changed([&](auto& c) {
                  c.erase("rope_theta");
                  c["rope_parameters"] = stretched;
                  c["rope_parameters"]["rope_theta"] = 5000;
              }).shape.rotary,
              expected);
    EXPECT_EQ(changed([&](auto& c) {
                  c["rope_theta"] = 1e12;
                  c["rope_scaling"] = {{"factor", nullptr}};
              }).shape.rotary,
              RotaryPositions{.base = 1e12F});
    const std::vector<std::pair<const char*, DecoderActivation>> activations{
        {"silu", DecoderActivation::silu},
        {"swish", DecoderActivation::silu},
        {"gelu", DecoderActivation::gelu_erf},
        {"gelu_new", DecoderActivation::gelu_tanh},
        {"gelu_pytorch_tanh", DecoderActivation::gelu_tanh}};
    for (const auto& known : activations) {
        EXPECT_EQ(changed([&](auto& c) { c["hidden_act"] = known.first; }).shape.activation, known.second)
            << known.first;
    }
    EXPECT_EQ(changed([](auto& c) { c["eos_token_id"] = std::vector<int>(8, 1); }).end.tokens().size(), 8U);
    const Config mistral = changed([](auto& c) {
        c["model_type"] = "mistral";
        c["sliding_window"] = nullptr;
    });
    EXPECT_EQ(mistral, config_);
    const Config qwen = changed([](auto& c) {
        c["model_type"] = "qwen2";
        c["use_sliding_window"] = false;
        c["sliding_window"] = 16;
        c["layer_types"] = {"full_attention", "full_attention"};
    });
    EXPECT_TRUE(qwen.has_query_bias);
    EXPECT_FALSE(qwen.has_projection_bias);
}

TEST_F(LlamaCheckpoint, IsRefusedWhereItComputesOtherwise) {
    EXPECT_EQ(refusal_of([](auto& c) { c["hidden_act"] = "relu"; }),
              "E-MOD-170 hidden_act is 'relu', expected \"silu\", \"gelu\" or \"gelu_pytorch_tanh\"");
    EXPECT_EQ(refusal_of([](auto& c) { c["num_key_value_heads"] = 3; }),
              "E-MOD-170 num_attention_heads is 4, expected a multiple of num_key_value_heads = 3");
    EXPECT_EQ(refusal_of([](auto& c) { c["head_dim"] = 5; }), "E-MOD-170 heads have 5 values, expected an even number");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["hidden_size"] = 25;
                  c.erase("head_dim");
              }),
              "E-MOD-170 hidden_size is 25, expected a multiple of num_attention_heads = 4");
    EXPECT_EQ(refusal_of([](auto& c) { c["rope_theta"] = 0; }),
              "E-MOD-170 rope_theta is 0, expected a number above 0 and up to 1000000000000");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
              }),
              "E-MOD-170 positions are scaled by 'linear', expected \"default\" or \"llama3\"");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 2}};
              }),
              "E-MOD-170 scaled positions without low_freq_factor");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["rope_scaling"] = {{"rope_type", "llama3"},
                                       {"factor", 2},
                                       {"low_freq_factor", 4},
                                       {"high_freq_factor", 4},
                                       {"original_max_position_embeddings", 16}};
              }),
              "E-MOD-170 high_freq_factor is 4, expected more than low_freq_factor = 4");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["rope_scaling"] = c["rope_parameters"] = {{"rope_type", "default"}};
              }),
              "E-MOD-170 has both rope_parameters and rope_scaling, expected one of them");
    EXPECT_EQ(refusal_of([](auto& c) { c["partial_rotary_factor"] = 0.5; }),
              "E-MOD-170 partial_rotary_factor is 0.5, expected 1.0");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["rope_parameters"] = {{"partial_rotary_factor", 0.5}};
              }),
              "E-MOD-170 rope_parameters.partial_rotary_factor is 0.5, expected 1.0");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["rope_scaling"] = {{"factor", 8.0}};
              }),
              "E-MOD-170 rope_scaling.factor is 8.0, but there is no rope_type, which says what it is for");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["num_attention_heads"] = 65536;
                  c["num_key_value_heads"] = 1;
                  c["head_dim"] = 65538;
              }),
              "E-MOD-170 65536 heads of 65538 values, expected at most 1048576 values in all");
    EXPECT_EQ(refusal_of([](auto& c) { c["rope_theta"] = 1e-60; }),
              "E-MOD-170 rope_theta is 1e-60, expected a number above 0 and up to 1000000000000");
    EXPECT_EQ(refusal_of([](auto& c) { c["rope_scaling"] = 5; }), "E-MOD-170 rope_scaling is 5, expected an object");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["model_type"] = "mistral";
                  c["max_position_embeddings"] = 8192;
              }),
              "E-MOD-170 sliding_window is 4096, expected null, or all 8192 positions");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["model_type"] = "mistral";
                  c["sliding_window"] = 40;
              }),
              "E-MOD-170 sliding_window is 40, expected null, or all 48 positions");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["model_type"] = "qwen2";
                  c["use_sliding_window"] = true;
              }),
              "E-MOD-170 use_sliding_window is true, expected false");
    EXPECT_EQ(
        refusal_of([](auto& c) {
            c["layer_types"] = {"full_attention", "sliding_attention"};
        }),
        "E-MOD-170 layer_types is [\"full_attention\",\"sliding_attention\"], expected \"full_attention\" in all");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["eos_token_id"] = {1, 260};
              }),
              "E-MOD-170 eos_token_id is [1,260], expected 1 to 8 tokens of 0 to 259");
    EXPECT_EQ(refusal_of([](auto& c) { c["eos_token_id"] = nlohmann::json::array(); }),
              "E-MOD-170 eos_token_id is [], expected 1 to 8 tokens of 0 to 259");
    EXPECT_EQ(refusal_of([](auto& c) { c["eos_token_id"] = std::vector<int>(9, 1); }),
              "E-MOD-170 eos_token_id is [1,1,1,1,1,1,1,1,1], expected 1 to 8 tokens of 0 to 259");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["model_type"] = "qwen2";
                  c.erase("num_key_value_heads");
              }),
              "E-MOD-170 says no num_key_value_heads");
    EXPECT_EQ(refusal_of([](auto& c) {
                  c["quantization_config"] = {{"bits", 4}};
              }),
              "E-MOD-170 the weights are quantised (quantization_config), expected floating-point numbers");
    EXPECT_EQ(refusal_of([](auto& c) { c["is_causal"] = false; }), "E-MOD-170 is_causal is false, expected true");
    EXPECT_EQ(refusal_of([](auto& c) { c["attention_bias"] = 1; }),
              "E-MOD-170 attention_bias is 1, expected true or false");
}

}  // namespace
}  // namespace sluice::gpt2

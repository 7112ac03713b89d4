#include "apps/gpt2/checkpoint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/checkpoint_index.hpp"
#include "apps/gpt2/side_file.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/grows_when_read.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

class Checkpoint : public testing::Test {
protected:
    Checkpoint() { test::write_checkpoint(folder_.path(), weights_); }

    [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_.path() / name; }

    [[nodiscard]] WeightBlob read(const char* name = "model.safetensors") const {
        return read_checkpoint(file(name), file("config.json"));
    }

    [[nodiscard]] std::string refusal_of_config(const std::function<void(nlohmann::json&)>& change) const {
        nlohmann::json json = test::config_json(config_);
        change(json);
        test::write_file(file("config.json"), json.dump());
        return test::bad_data_of([&] { return read_config(file("config.json")); });
    }

    /// An index: the first `count` tensors in one file, the rest in another.
    [[nodiscard]] nlohmann::json index_of(std::size_t count) const {
        nlohmann::json map;
        for (const TensorSpec& spec : tensors_of(config_)) {
            map[spec.name] = map.size() < count ? "a.safetensors" : "b.safetensors";
        }
        return {{"metadata", {{"total_size", 1}}}, {"weight_map", map}};
    }

    /// Writes so many of the tensors, from `first` on, to a file of their own.
    void write_some(const char* name, std::size_t first, std::size_t count) const {
        const std::vector<TensorSpec> specs = tensors_of(config_);
        std::size_t at = 0;
        for (std::size_t i = 0; i < first; ++i) {
            at += static_cast<std::size_t>(specs[i].elements());
        }
        std::size_t values = 0;
        for (std::size_t i = first; i < first + count; ++i) {
            values += static_cast<std::size_t>(specs[i].elements());
        }
        const std::vector<TensorSpec> some(specs.begin() + static_cast<std::ptrdiff_t>(first),
                                           specs.begin() + static_cast<std::ptrdiff_t>(first + count));
        test::write_safetensors(file(name), some, test::gpt2_values(weights_).subspan(at, values));
    }

    [[nodiscard]] bool equals_weights(const WeightBlob& blob) const {
        return config_of(blob) == config_ && std::ranges::equal(test::gpt2_values(blob), test::gpt2_values(weights_));
    }

    TemporaryFolder folder_;
    Config config_ = test::small_config();
    WeightBlob weights_ = random_checkpoint(config_, 3);
};

TEST_F(Checkpoint, ComesBackAsItWasWritten) {
    EXPECT_TRUE(equals_weights(read()));
    test::write_checkpoint(folder_.path(), weights_, "transformer.");
    EXPECT_TRUE(equals_weights(read()));
}

/// Tensors of random weights, whose matrices have their inputs in dimension `inputs`.
void expect_normal_ones(const WeightBlob& weights, std::size_t inputs) {
    std::span<const float> left = test::gpt2_values(weights);
    std::set<float> firsts;
    const std::vector<TensorSpec> specs = tensors_of(config_of(weights));
    for (const TensorSpec& spec : specs) {
        const auto values = left.first(static_cast<std::size_t>(spec.elements()));
        left = left.subspan(values.size());
        const std::string_view name = spec.name;
        const bool is_gain =
            name.ends_with("weight") && (name.find("ln_") != name.npos || name.find("norm") != name.npos);
        const bool is_matrix = spec.shape.size() == 2 && (name.starts_with("h.") || name.starts_with("layers."));
        const double mean = is_gain ? 1 : 0;
        const double deviation = is_matrix ? 2 / std::sqrt(static_cast<double>(spec.shape[inputs])) : 0.1;
        firsts.insert((values[0] - static_cast<float>(mean)) / static_cast<float>(deviation));
        double sum = 0;
        double squares = 0;
        for (const float value : values) {
            sum += static_cast<double>(value) - mean;
            squares += std::pow(static_cast<double>(value) - mean, 2);
        }
        const auto count = static_cast<double>(values.size());
        // Five standard errors, of a deviation for values as normal as a sum of twelve uniforms is.
        EXPECT_NEAR(sum / count, 0, 5 * deviation / std::sqrt(count)) << spec.name;
        EXPECT_NEAR(std::sqrt(squares / count), deviation, 5 * deviation / std::sqrt(2 * count)) << spec.name;
    }
    EXPECT_TRUE(left.empty());
    EXPECT_GT(firsts.size(), specs.size() / 2);  // each has numbers of its own
}

TEST_F(Checkpoint, OfRandomWeightsHasNormalOnesOfTheScaleOfTheirTensor) {
    expect_normal_ones(weights_, 0);
    expect_normal_ones(random_checkpoint(test::small_llama_config(), 3), 1);
}

TEST_F(Checkpoint, OfSeveralFilesIsReadByItsIndex) {
    const std::size_t all = tensors_of(config_).size();
    write_some("a.safetensors", 0, 50);
    write_some("b.safetensors", 50, all - 50);
    test::write_file(file("model.safetensors.index.json"), index_of(50).dump());

    EXPECT_TRUE(equals_weights(read("model.safetensors.index.json")));
    EXPECT_EQ(shards_of(file("model.safetensors.index.json")),
              (std::vector{file("a.safetensors"), file("b.safetensors")}));
    std::filesystem::copy_file(file("model.safetensors.index.json"), file("INDEX.JSON"));
    EXPECT_TRUE(equals_weights(read("INDEX.JSON")));

    write_some("b.safetensors", 49, all - 49);
    EXPECT_NE(test::bad_data_of([&] { return read("model.safetensors.index.json"); }).find("stands in two files"),
              std::string::npos);
    for (const std::string elsewhere : {"../b.safetensors", "b.bin", "model.safetensors.index.json", ""}) {
        test::write_file(file("model.safetensors.index.json"),
                         fmt::format(R"({{"weight_map": {{"x": "{}"}}}})", elsewhere));
        EXPECT_EQ(test::bad_data_of([&] { return read("model.safetensors.index.json"); }),
                  fmt::format("E-MOD-171 tensor 'x' is in \"{}\", expected a .safetensors file in the index's folder",
                              elsewhere));
    }
    test::write_file(file("model.safetensors.index.json"), R"([1])");
    EXPECT_EQ(test::bad_data_of([&] { return read("model.safetensors.index.json"); }),
              "E-MOD-171 expected an object with a weight_map: tensors and their files");
}

TEST_F(Checkpoint, HasAnIndexThatSaysInWhichFileEachTensorIs) {
    const std::size_t all = tensors_of(config_).size();
    const auto refusal_of = [&](const std::function<void(nlohmann::json&)>& change) {
        nlohmann::json index = index_of(50);
        change(index["weight_map"]);
        test::write_file(file("index.json"), index.dump());
        return test::bad_data_of([&] { return read("index.json"); });
    };
    write_some("a.safetensors", 0, 50);
    write_some("b.safetensors", 50, all - 50);

    EXPECT_EQ(refusal_of([](auto&) {}), "none");
    EXPECT_EQ(refusal_of([](auto& map) { map["wte.weight"] = "a.safetensors"; }),
              "E-MOD-171 tensor 'wte.weight' is in 'b.safetensors', and this index says in 'a.safetensors'");
    EXPECT_EQ(refusal_of([](auto& map) { map.erase("wte.weight"); }),
              "E-MOD-171 tensor 'wte.weight' is in 'b.safetensors', and this index does not name it");
    EXPECT_EQ(refusal_of([](auto& map) { map["more.weight"] = "b.safetensors"; }),
              "E-MOD-171 tensor 'more.weight' is in no file, and this index says in 'b.safetensors'");
    EXPECT_EQ(refusal_of([](auto& map) { map["transformer.wte.weight"] = "b.safetensors"; }),
              "E-MOD-171 tensor 'transformer.wte.weight' is in no file, and this index says in 'b.safetensors'");
    EXPECT_EQ(refusal_of([](auto& map) {
                  map["lm_head.weight"] = "b.safetensors";  // one that was dropped, because it is tied
              }),
              "none");
    write_some("b.safetensors", 50, all - 51);
    EXPECT_EQ(refusal_of([](auto&) {}),
              "E-MOD-171 tensor 'wte.weight' is in no file, and this index says in 'b.safetensors'");
    EXPECT_EQ(refusal_of([](auto& map) { map.erase("wte.weight"); }), "E-MOD-047 tensor 'wte.weight' is missing");
}

TEST_F(Checkpoint, ThatChangesWhileItIsReadIsRefused) {
    const std::size_t all = tensors_of(config_).size();
    write_some("a.safetensors", 0, 50);
    write_some("b.safetensors", 50, all - 50);
    test::write_file(file("index.json"), index_of(50).dump());

    for (const char* changing : {"config.json", "index.json", "a.safetensors", "b.safetensors"}) {
        const std::string before = test::contents(file(changing));

        const std::string refusal = test::bad_data_of([&] {
            const test::GrowsWhenRead growing(file(changing));
            return read("index.json");
        });

        EXPECT_EQ(refusal, "E-MOD-053 the file changed or shrank while it was read") << changing;
        test::write_file(file(changing), before);
    }
    EXPECT_TRUE(equals_weights(read("index.json")));
}

TEST_F(Checkpoint, MayHoldWhatOtherProgramsKeepBesideIt) {
    std::vector<TensorSpec> specs = tensors_of(config_);
    std::vector<float> values(test::gpt2_values(weights_).begin(), test::gpt2_values(weights_).end());
    const auto embeddings = static_cast<std::ptrdiff_t>(specs.back().elements());
    specs.push_back({"lm_head.weight", specs.back().shape});
    const std::vector<float> head(values.end() - embeddings, values.end());
    values.insert(values.end(), head.begin(), head.end());
    specs.push_back({"h.3.attn.bias", {1, 1, 2, 2}});
    values.resize(values.size() + 4);
    specs.push_back({"h.3.attn.masked_bias", {1}});
    values.push_back(-1e4F);
    test::write_safetensors(file("model.safetensors"), specs, values);

    EXPECT_TRUE(equals_weights(read()));

    specs.pop_back();
    values.pop_back();
    values[values.size() - 5] += 1;
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-MOD-047 tensor 'lm_head.weight' is not the token embeddings once more");
    specs[specs.size() - 2].shape = {2};
    values.erase(values.end() - 4 - embeddings + 2, values.end() - 4);
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-MOD-047 tensor 'lm_head.weight' is not the token embeddings once more");
}

TEST_F(Checkpoint, OfAnotherModelIsRefused) {
    std::vector<TensorSpec> specs = tensors_of(config_);
    std::vector<float> values(test::gpt2_values(weights_).begin(), test::gpt2_values(weights_).end());
    specs.push_back({"h.0.attn.rotary", {1}});
    values.push_back(1);
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-MOD-047 tensor 'h.0.attn.rotary' is not one of this model's");

    specs.back().name = "transformer.h.0.attn.rotary";
    specs.push_back({"h.0.attn.rotary", {1}});
    values.push_back(1);
    test::write_safetensors(file("model.safetensors"), specs, values);
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-MOD-047 tensor 'h.0.attn.rotary' is 'transformer.h.0.attn.rotary' once more");

    test::write_checkpoint(folder_.path(), weights_);
    nlohmann::json json = test::config_json(config_);
    json["n_inner"] = 41;
    test::write_file(file("config.json"), json.dump());
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-MOD-047 tensor 'h.0.mlp.c_fc.bias' has shape [40], expected [41]");

    test::write_file(file("model.bin"), std::string(4000, 'x'));
    EXPECT_EQ(test::bad_data_of([&] { return read("model.bin"); }), "E-MOD-048 got 4000 bytes, expected 497759232");
}

TEST_F(Checkpoint, HasAConfigOfAGpt2) {
    EXPECT_EQ(read_config(file("config.json")), config_);
    nlohmann::json older = test::config_json(config_);
    older["n_ctx"] = older["n_positions"];
    older.erase("n_positions");
    older.erase("n_inner");
    older["activation_function"] = "gelu_pytorch_tanh";
    older["layer_norm_epsilon"] = 1;
    older["n_layer"] = 1000;
    test::write_file(file("config.json"), older.dump());
    Config expected = config_;
    expected.shape.inner = 4 * config_.shape.width;
    expected.shape.norm_epsilon = 1;
    expected.shape.layers = 1000;
    EXPECT_EQ(read_config(file("config.json")), expected);
    EXPECT_EQ(refusal_of_config([](auto& c) { c["scale_attn_weights"] = false; }),
              "E-MOD-170 scale_attn_weights is false, expected true");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["scale_attn_by_inverse_layer_idx"] = true; }),
              "E-MOD-170 scale_attn_by_inverse_layer_idx is true, expected false");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["add_cross_attention"] = true; }),
              "E-MOD-170 add_cross_attention is true, expected false");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["model_type"] = "opt"; }),
              "E-MOD-170 model_type is \"opt\", expected \"gpt2\", \"llama\", \"mistral\" or \"qwen2\"");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["activation_function"] = "relu"; }),
              "E-MOD-170 activation_function is \"relu\", expected \"gelu_new\"");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["is_causal"] = false; }),
              "E-MOD-170 is_causal is false, expected true");
    EXPECT_EQ(refusal_of_config([](auto& c) {
                  c["quantization_config"] = {{"bits", 8}};
              }),
              "E-MOD-170 the weights are quantised (quantization_config), expected floating-point numbers");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["n_embd"] = 0; }), "E-MOD-170 n_embd is 0, expected 1 to 1048576");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["n_embd"] = 1e9; }),
              "E-MOD-170 n_embd is 1000000000.0, expected 1 to 1048576");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["n_head"] = 5; }),
              "E-MOD-170 n_embd is 24, expected a multiple of n_head = 5");
    EXPECT_EQ(refusal_of_config([](auto& c) { c.erase("n_layer"); }), "E-MOD-170 n_layer is null, expected 1 to 1000");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["n_layer"] = 1001; }), "E-MOD-170 n_layer is 1001, expected 1 to 1000");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["eos_token_id"] = 260; }),
              "E-MOD-170 eos_token_id is 260, expected 0 to 259");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["tie_word_embeddings"] = false; }),
              "E-MOD-170 tie_word_embeddings is false, expected true");
    EXPECT_EQ(refusal_of_config([](auto& c) { c["layer_norm_epsilon"] = -1; }),
              "E-MOD-170 layer_norm_epsilon is -1, expected a number above 0 and up to 1");
    test::write_file(file("config.json"), "{");
    EXPECT_EQ(test::bad_data_of([&] { return read_config(file("config.json")); }), "E-MOD-170 no JSON from byte 2 on");
    test::write_file(file("config.json"), test::config_json(config_).dump() + '\0' + "other");
    EXPECT_EQ(test::bad_data_of([&] { return read_config(file("config.json")); }),
              fmt::format("E-MOD-170 no JSON from byte {} on", test::config_json(config_).dump().size() + 1));
    test::write_file(file("config.json"), "version https://git-lfs.github.com/spec/v1\n");
    EXPECT_EQ(test::bad_data_of([&] { return read_config(file("config.json")); }),
              "E-MOD-170 this is a Git LFS pointer, not the file");
    test::write_file(file("config.json"), "[]");
    EXPECT_EQ(test::bad_data_of([&] { return read_config(file("config.json")); }), "E-MOD-170 expected a JSON object");
}

TEST_F(Checkpoint, KnowsItsBlocksByNumber) {
    const DecoderWeights weights = weights_of(weights_);
    const std::vector<TensorSpec> specs = tensors_of(config_);
    const std::span<const float> values = test::gpt2_values(weights_);
    const auto expect_at = [](const WeightValues& got, std::span<const float> wanted) {
        EXPECT_EQ(got.bytes().data(), std::as_bytes(wanted).data());
        EXPECT_EQ(got.size(), wanted.size());
    };
    std::size_t at = 0;
    for (const TensorSpec& spec : specs) {
        const auto size = static_cast<std::size_t>(spec.elements());
        const auto part = values.subspan(at, size);
        for (std::uint32_t layer = 0; layer < config_.shape.layers; ++layer) {
            const std::string prefix = "h." + std::to_string(layer) + ".";
            const DecoderBlockWeights& block = weights.blocks[layer];
            if (spec.name == prefix + "attn.c_attn.weight") {
                expect_at(block.attention.weights, part);
            } else if (spec.name == prefix + "ln_2.weight") {
                expect_at(block.inner_norm.gamma, part);
            } else if (spec.name == prefix + "mlp.c_proj.bias") {
                expect_at(block.contraction.bias, part);
            }
        }
        if (spec.name == "wpe.weight") {
            expect_at(weights.positions, part);
        }
        at += size;
    }
    expect_at(weights.tokens, values.last(weights.tokens.size()));
}

std::string nested(std::size_t depth, std::string_view inside) {
    return std::string(depth, '[') + std::string(inside) + std::string(depth, ']');
}

TEST(SideFile, IsNestedSixteenDeepAtMost) {
    const auto parse = [](const std::string& text) {
        return parse_json({text, "config.json"}, {.id = "E-MOD-170", .hint = ""});
    };

    EXPECT_NO_THROW(static_cast<void>(parse(nested(15, R"("[[\"[[", {"]\\": "}"}, "{")"))));
    EXPECT_THROW(static_cast<void>(parse(nested(17, "1"))), Error);
    EXPECT_THROW(static_cast<void>(parse(nested(16, R"("\"", {})"))), Error);
}

TEST(SideFile, HasNoKeyTwiceInAnObject) {
    const auto parse = [](const std::string& text) {
        return test::bad_data_of([&] { return parse_json({text, "config.json"}, {.id = "E-MOD-170", .hint = ""}); });
    };

    EXPECT_EQ(parse(R"([{"a": {"a": 1}}, {"a": "a", "b": ["a", {"b": 2}]}])"), "none");
    EXPECT_EQ(parse(R"({"a": 1, "b": {"a": 2, "b": 3}, "a": 1})"), "E-MOD-170 has the key 'a' twice");
    EXPECT_EQ(parse(R"({"b": [{"k": 1, "\u006b": 2}]})"), "E-MOD-170 has the key 'k' twice");
    EXPECT_EQ(parse(R"({"a": 1, "a": 2)"), "E-MOD-170 has the key 'a' twice");
}

TEST_F(Checkpoint, HasAConfigThatSaysEverythingOnce) {
    std::string json = test::config_json(config_).dump();
    json.insert(1, R"("n_layer": 3, )");
    test::write_file(file("config.json"), json);

    const Error error = test::error_of([&] { return read_config(file("config.json")); });

    EXPECT_EQ(error.text().where, file("config.json").native());
    EXPECT_EQ(error.text().what, "has the key 'n_layer' twice");
}

TEST_F(Checkpoint, HasAConfigOfFourMebibytesAtMost) {
    std::string json = test::config_json(config_).dump();
    json.resize(std::size_t{4} << 20U, ' ');
    test::write_file(file("config.json"), json);
    EXPECT_EQ(read_config(file("config.json")), config_);

    test::write_file(file("config.json"), json + ' ');
    EXPECT_EQ(test::bad_data_of([&] { return read_config(file("config.json")); }),
              "E-MOD-170 got 4194305 bytes, expected at most 4194304");
}

/// A parser that looks at all that came before, whenever an object ends, takes hours.
TEST(SideFile, MayHoldAMillionObjects) {
    constexpr std::size_t count = 1'000'000;
    std::string text = "[{}";
    for (std::size_t i = 1; i < count; ++i) {
        text += ",{}";
    }

    EXPECT_EQ(parse_json({text + "]", "config.json"}, {.id = "E-MOD-170", .hint = ""}).size(), count);
}

}  // namespace
}  // namespace sluice::gpt2

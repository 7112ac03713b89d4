// Tensors of checkpoints in F32, F16 and BF16 are kept as they are, and read as what they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "apps/gpt2/checkpoint.hpp"
#include "apps/gpt2/tensors.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::array all_types{FloatType::f32, FloatType::f16, FloatType::bf16};

/// A checkpoint whose values fit every type.
class TensorTypes : public testing::Test {
protected:
    void make(const Config& config) {
        config_ = config;
        test::write_checkpoint(folder_.path(), random_checkpoint(config, 3));
        specs_ = tensors_of(config);
        std::size_t count = 0;
        for (const TensorSpec& spec : specs_) {
            count += static_cast<std::size_t>(spec.elements());
        }
        std::mt19937 engine(7);
        values_.resize(count);
        std::ranges::generate(values_, [&] { return static_cast<float>(engine() % 255 + 1) / 64.0F - 2.0F; });
        types_.assign(specs_.size(), FloatType::f32);
    }

    [[nodiscard]] WeightBlob read() const {
        test::write_safetensors(folder_.path() / "model.safetensors", specs_, values_, types_);
        return read_checkpoint(folder_.path() / "model.safetensors", folder_.path() / "config.json");
    }

    [[nodiscard]] std::size_t number_of(const std::string& name) const {
        const auto found = std::ranges::find(specs_, name, &TensorSpec::name);
        EXPECT_NE(found, specs_.end()) << name;
        return static_cast<std::size_t>(found - specs_.begin());
    }
    [[nodiscard]] std::size_t first_value_of(const std::string& name) const {
        std::size_t at = 0;
        for (std::size_t i = 0; i < number_of(name); ++i) {
            at += static_cast<std::size_t>(specs_[i].elements());
        }
        return at;
    }
    void set_type(const std::string& name, FloatType type) { types_[number_of(name)] = type; }

    /// What `got` holds is the tensors of these names, in `type`.
    void expect(const WeightValues& got, FloatType type, const std::vector<std::string>& names) const {
        std::vector<float> wanted;
        for (const std::string& name : names) {
            const auto from = values_.begin() + static_cast<std::ptrdiff_t>(first_value_of(name));
            wanted.insert(wanted.end(), from, from + static_cast<std::ptrdiff_t>(specs_[number_of(name)].elements()));
        }
        EXPECT_EQ(got.type(), type) << names[0];
        EXPECT_EQ(got.floats(), wanted) << names[0];
    }

    TemporaryFolder folder_;
    Config config_;
    std::vector<TensorSpec> specs_;
    std::vector<float> values_;
    std::vector<FloatType> types_;
};

TEST_F(TensorTypes, AreKept) {
    make(test::small_config());
    const std::size_t as_fp32 = read().memory.bytes().size();
    for (const FloatType type : {FloatType::f16, FloatType::bf16}) {
        types_.assign(specs_.size(), type);
        const WeightBlob blob = read();
        EXPECT_EQ(as_fp32 - blob.memory.bytes().size(), 2 * values_.size());

        const DecoderWeights weights = weights_of(blob);

        expect(weights.tokens, type, {"wte.weight"});
        expect(weights.positions, type, {"wpe.weight"});
        expect(weights.last_norm.gamma, type, {"ln_f.weight"});
        expect(weights.blocks[10].contraction.weights, type, {"h.10.mlp.c_proj.weight"});
        expect(weights.blocks[10].contraction.bias, type, {"h.10.mlp.c_proj.bias"});
    }
}

/// Each tensor in a type of its own; an odd number of short values lies before an fp32 tensor.
TEST_F(TensorTypes, MayBeMixed) {
    Config config = test::small_config();
    config.shape.inner = 33;
    make(config);
    for (std::size_t i = 0; i < types_.size(); ++i) {
        types_[i] = all_types[i % all_types.size()];
    }
    set_type("h.2.mlp.c_fc.bias", FloatType::bf16);
    set_type("h.2.mlp.c_fc.weight", FloatType::f32);

    const WeightBlob blob = read();
    const DecoderWeights weights = weights_of(blob);

    const auto expect_as_stored = [&](const WeightValues& got, const std::string& name) {
        expect(got, types_[number_of(name)], {name});
    };
    for (std::size_t i = 0; i < weights.blocks.size(); ++i) {
        const DecoderBlockWeights& block = weights.blocks[i];
        const std::string prefix = "h." + std::to_string(i) + ".";
        const auto expect_linear = [&](const DecoderLinear& linear, const char* name) {
            expect_as_stored(linear.weights, prefix + name + ".weight");
            expect_as_stored(linear.bias, prefix + name + ".bias");
        };
        expect_linear(block.attention, "attn.c_attn");
        expect_linear(block.projection, "attn.c_proj");
        expect_linear(block.expansion, "mlp.c_fc");
        expect_linear(block.contraction, "mlp.c_proj");
        expect_as_stored(block.attention_norm.gamma, prefix + "ln_1.weight");
        expect_as_stored(block.inner_norm.beta, prefix + "ln_2.bias");
    }
    expect_as_stored(weights.tokens, "wte.weight");
}

TEST_F(TensorTypes, AreFp32WhereThoseOfAMatrixDiffer) {
    Config config = test::small_llama_config();
    config.has_query_bias = config.has_projection_bias = config.has_inner_bias = true;
    make(config);
    types_.assign(specs_.size(), FloatType::bf16);
    set_type("layers.0.self_attn.k_proj.weight", FloatType::f16);
    set_type("layers.1.mlp.up_proj.bias", FloatType::f32);

    const WeightBlob blob = read();
    const DecoderWeights weights = weights_of(blob);

    const auto attention_of = [](const std::string& layer, const std::string& kind) {
        return std::vector{layer + "self_attn.q_proj." + kind, layer + "self_attn.k_proj." + kind,
                           layer + "self_attn.v_proj." + kind};
    };
    expect(weights.blocks[0].attention.weights, FloatType::f32, attention_of("layers.0.", "weight"));
    expect(weights.blocks[0].attention.bias, FloatType::bf16, attention_of("layers.0.", "bias"));
    expect(weights.blocks[1].attention.weights, FloatType::bf16, attention_of("layers.1.", "weight"));
    expect(weights.blocks[1].expansion.weights, FloatType::bf16,
           {"layers.1.mlp.gate_proj.weight", "layers.1.mlp.up_proj.weight"});
    expect(weights.blocks[1].expansion.bias, FloatType::f32,
           {"layers.1.mlp.gate_proj.bias", "layers.1.mlp.up_proj.bias"});
    expect(weights.blocks[0].projection.weights, FloatType::bf16, {"layers.0.self_attn.o_proj.weight"});
    expect(weights.head, FloatType::bf16, {"lm_head.weight"});
}

TEST_F(TensorTypes, AreSearchedForNumbersThatAreNotFinite) {
    make(test::small_config());
    for (const FloatType type : all_types) {
        types_.assign(specs_.size(), type);
        for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
            float& value = values_[first_value_of("h.3.mlp.c_fc.weight") + 5];
            const float good = std::exchange(value, bad);

            const Error error = test::error_of([&] { static_cast<void>(read()); });

            EXPECT_EQ(error.code(), ExitCode::numeric);
            EXPECT_EQ(error.text().id, "E-NUM-051");
            EXPECT_EQ(error.text().what,
                      std::string("tensor 'h.3.mlp.c_fc.weight': element 5 is ") + (bad > 0 ? "inf" : "-inf"));
            value = good;
        }
    }
}

/// lm_head.weight is the embeddings once more, in whatever type.
TEST_F(TensorTypes, OfATiedHeadMayBeOthers) {
    make(test::small_config());
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>(first_value_of("wte.weight"));
    const std::vector<float> tokens(from, from + static_cast<std::ptrdiff_t>(specs_.back().elements()));
    types_.back() = FloatType::bf16;
    specs_.push_back({"lm_head.weight", specs_.back().shape});
    values_.insert(values_.end(), tokens.begin(), tokens.end());
    types_.push_back(FloatType::f16);
    expect(weights_of(read()).tokens, FloatType::bf16, {"wte.weight"});

    values_.back() += 1;
    EXPECT_EQ(test::bad_data_of([&] { static_cast<void>(read()); }),
              "E-MOD-047 tensor 'lm_head.weight' is not the token embeddings once more");
}

}  // namespace
}  // namespace sluice::gpt2

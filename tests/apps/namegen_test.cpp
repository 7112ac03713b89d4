#include "apps/namegen/namegen_app.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "apps/namegen/namegen_codec.hpp"
#include "apps/namegen/namegen_options.hpp"
#include "apps/namegen/namegen_weights.hpp"
#include "core/config/schema.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::namegen {
namespace {

using testing::HasSubstr;

struct Setting {
    const char* name;
    SettingValue value;
};

NamegenOptions options_of(const std::vector<Setting>& changes) {
    AppSettings settings = default_settings(namegen_keys());
    for (const Setting& change : changes) {
        settings.set(change.name, change.value);
    }
    return read_namegen_options(settings);
}

TEST(NamegenOptions, HaveDefaults) {
    const NamegenOptions options = options_of({});

    EXPECT_EQ(options.draws, DrawsFrom::philox);
    EXPECT_EQ(options.sampling.max_length, 10U);
    EXPECT_EQ(options.sampling.temperature, 1);
    EXPECT_EQ(options.sampling.top_k, 0U);
    EXPECT_EQ(options.sampling.seed, 0U);
}

TEST(NamegenOptions, AreThoseOfTheJob) {
    const NamegenOptions options = options_of({{"generate.max_length", std::uint64_t{7}},
                                               {"generate.temperature", 0.5},
                                               {"generate.top_k", std::uint64_t{3}},
                                               {"generate.seed", (std::uint64_t{1} << 40U) + 7}});

    EXPECT_EQ(options.sampling.max_length, 7U);
    EXPECT_EQ(options.sampling.temperature, 0.5F);
    EXPECT_EQ(options.sampling.top_k, 3U);
    EXPECT_EQ(options.sampling.seed, (std::uint64_t{1} << 40U) + 7);
}

TEST(NamegenOptions, TakeNoTemperatureForNothingThatIsNot) {
    const Setting seed{"generate.seed", std::uint64_t{1}};

    for (const double temperature : {5e-324, 1e-300, 1e-45, 1e-38, 0.5}) {
        const float taken = options_of({{"generate.temperature", temperature}, seed}).sampling.temperature;

        EXPECT_EQ(taken, std::max(static_cast<float>(temperature), std::numeric_limits<float>::min())) << temperature;
    }
}

TEST(NamegenOptions, AreRefusedWhenTheyContradictEachOther) {
    const Setting greedy{"generate.temperature", 0.0};
    const Setting seed{"generate.seed", std::uint64_t{1}};
    const auto rng = [](const char* name) { return Setting{"generate.rng", std::string(name)}; };
    const std::vector<std::pair<std::vector<Setting>, const char*>> rows{
        {{greedy, {"generate.top_k", std::uint64_t{4}}}, "generate.top_k"},
        {{greedy, seed}, "generate.seed"},
        {{greedy, rng("libc")}, "generate.rng"},
        {{greedy, rng("input")}, "generate.rng"},
        {{rng("input"), seed}, "generate.seed"},
        {{rng("libc"), {"generate.seed", std::uint64_t{1} << 32U}}, "generate.seed"},
    };
    for (const auto& [settings, where] : rows) {
        const Error error = test::error_of([&] { return options_of(settings); });

        EXPECT_EQ(error.code(), ExitCode::configuration);
        EXPECT_EQ(error.text().id, "E-CFG-105");
        EXPECT_EQ(error.text().where, where);
        EXPECT_FALSE(error.text().hint.empty());
    }
    EXPECT_NO_THROW(options_of({greedy}));
    EXPECT_EQ(options_of({rng("libc"), {"generate.seed", std::uint64_t{UINT32_MAX}}}).sampling.seed, UINT32_MAX);
}

struct Item {
    TextStart start{};
    std::vector<float> draws{};
    std::string prefix{};
};

Item taken_apart(std::span<const std::byte> bytes, std::uint32_t max_length) {
    Item item;
    std::memcpy(&item.start, bytes.data(), sizeof item.start);
    item.draws.resize(max_length);
    std::memcpy(item.draws.data(), bytes.data() + sizeof item.start, max_length * sizeof(float));
    item.prefix.resize(item.start.prefix);
    std::memcpy(item.prefix.data(), bytes.data() + sizeof item.start + max_length * sizeof(float), item.start.prefix);
    return item;
}

TEST(NamegenCodec, SendsNumberAndPrefix) {
    const NamegenCodec codec(options_of({}));
    std::vector<std::byte> bytes(codec.shape().input_bytes, std::byte{0xCC});

    codec.encode(1'000'000'000'007, "Ann\xff", bytes);

    const Item item = taken_apart(bytes, 10);
    EXPECT_EQ(item.start.number, 1'000'000'000'007U);
    EXPECT_EQ(item.start.has_draws, 0U);
    EXPECT_EQ(item.prefix, "Ann\xff");
}

TEST(NamegenCodec, RefusesAPrefixThatIsTooLongOrHasTheEndInIt) {
    using namespace std::string_literals;
    const NamegenCodec codec(options_of({{"generate.max_length", std::uint64_t{4}}}));

    EXPECT_EQ(codec.check_text("Anna").what, "");
    EXPECT_EQ(codec.check_text("Annas").what, "the prefix has 5 bytes, expected at most generate.max_length = 4");
    EXPECT_THAT(codec.check_text("Annas").hint, HasSubstr("raise generate.max_length"));
    EXPECT_EQ(codec.check_text("An\0"s).what, "byte 2 of the prefix is NUL, which ends a name");
}

TEST(NamegenCodec, SendsTheLibrarysNumbers) {
    const NamegenCodec codec(options_of({{"generate.rng", std::string("libc")},
                                         {"generate.seed", std::uint64_t{4155}},
                                         {"generate.max_length", std::uint64_t{3}}}));
    std::vector<std::byte> bytes(codec.shape().input_bytes);
    ::srand(4155);
    for (std::uint64_t number = 0; number < 5; ++number) {
        std::vector<float> expected;
        for (int i = 0; i < 3; ++i) {
            expected.push_back(static_cast<float>(::rand()) / static_cast<float>(RAND_MAX));
        }

        codec.encode(number, "A", bytes);

        const Item item = taken_apart(bytes, 3);
        EXPECT_EQ(item.start.has_draws, 1U);
        EXPECT_EQ(item.draws, expected);
        EXPECT_EQ(item.prefix, "A");
    }
}

TEST(NamegenCodec, TakesRandomNumbersFromTheInput) {
    const NamegenCodec codec(
        options_of({{"generate.rng", std::string("input")}, {"generate.max_length", std::uint64_t{3}}}));
    std::vector<std::byte> bytes(codec.shape().input_bytes, std::byte{0xCC});
    const std::vector<float> draws{0, 0.5F, 1};

    EXPECT_EQ(codec.dense_shape(), std::vector<std::uint64_t>{3});
    ASSERT_EQ(codec.pack_dense(draws, bytes).what, "");
    const Item item = taken_apart(bytes, 3);
    EXPECT_EQ(item.start.has_draws, 1U);
    EXPECT_EQ(item.start.prefix, 0U);
    EXPECT_EQ(item.draws, draws);
    EXPECT_EQ(codec.pack_dense(std::vector<float>{0, 1.5F, 0}, bytes).what, "random number 1 is 1.5, expected 0 to 1");
    EXPECT_EQ(codec.pack_dense(std::vector<float>{0, 0, NAN}, bytes).what, "random number 2 is nan, expected 0 to 1");
    EXPECT_THAT(codec.check_text("").what, HasSubstr("random numbers"));
    EXPECT_THAT(codec.check_text("").hint, HasSubstr("generate.rng"));
    EXPECT_TRUE(NamegenCodec(options_of({})).dense_shape().empty());
}

/// The values of a row as text.
class RowText final : public Row {
public:
    void int32(std::int32_t value) override { text_ += std::to_string(value) + ";"; }
    void float32(float value) override { text_ += std::to_string(value) + ";"; }
    void text(std::string_view bytes) override { text_ += std::string(bytes) + ";"; }
    void missing() override { text_ += "-;"; }
    void fixed(std::span<const std::byte>) override { text_ += "fixed"; }
    [[nodiscard]] const std::string& all() const { return text_; }

private:
    std::string text_;
};

std::string decoded(const NamegenCodec& codec, std::span<const std::byte> result) {
    RowText row;
    codec.decode(result, row);
    return row.all();
}

TEST(NamegenCodec, GivesNameLengthAndLogProbability) {
    const NamegenCodec codec(options_of({}));
    std::vector<std::byte> result(codec.shape().output_bytes);
    const TextEnd end{.length = 3, .log_probability = -1.5F};
    std::memcpy(result.data(), &end, sizeof end);
    std::memcpy(&result[sizeof end], "Ann", 3);

    EXPECT_EQ(decoded(codec, result), "Ann;3;-1.500000;");
    EXPECT_EQ(codec.nonfinite(result), 0U);

    const TextEnd broken{.length = 3, .log_probability = NAN};
    std::memcpy(result.data(), &broken, sizeof broken);
    EXPECT_EQ(codec.nonfinite(result), 1U);

    codec.write_missing(result);
    EXPECT_EQ(decoded(codec, result), "-;-;-;");
    EXPECT_EQ(codec.nonfinite(result), 0U);
}

std::vector<float> numbered(std::uint64_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i + 1) / 1024;
    }
    return values;
}

std::uint64_t elements(std::span<const TensorSpec> specs) {
    std::uint64_t count = 0;
    for (const TensorSpec& spec : specs) {
        count += spec.elements();
    }
    return count;
}

class NamegenWeights : public testing::Test {
protected:
    [[nodiscard]] std::string path(const char* name) const { return (folder_.path() / name).string(); }

    TemporaryFolder folder_;
};

TEST_F(NamegenWeights, HaveTheSizesThatAFileSays) {
    for (std::uint32_t layers = 1; layers <= 4; ++layers) {
        const GruShape shape{.embedding = 3, .hidden = 5 + layers, .layers = layers};
        const std::vector<TensorSpec> specs = namegen_tensors(shape);
        const std::vector<float> values = numbered(elements(specs));
        test::write_safetensors(path("w.safetensors"), specs, values);

        const WeightBlob blob = read_namegen_weights(path("w.safetensors"));

        EXPECT_EQ(shape_of_namegen(blob), shape);
        const GruWeights weights = namegen_weights(blob);
        ASSERT_EQ(weights.layers.size(), layers);
        std::vector<float> in_order(weights.embedding.begin(), weights.embedding.end());
        const auto add = [&](std::span<const float> tensor) {
            in_order.insert(in_order.end(), tensor.begin(), tensor.end());
        };
        for (const auto tensor : {&GruLayerWeights::input, &GruLayerWeights::hidden, &GruLayerWeights::input_bias,
                                  &GruLayerWeights::hidden_bias}) {
            for (const GruLayerWeights& layer : weights.layers) {
                add(layer.*tensor);
            }
        }
        add(weights.linear);
        add(weights.linear_bias);
        EXPECT_EQ(in_order, values) << layers;
    }
}

/// The order of the headerless file: character_embedding, W_i of both layers, W_h, b_i, b_h, W_l, b_l.
TEST_F(NamegenWeights, LieInTheHeaderlessFileAsInTheOriginals) {
    std::vector<std::string> names;
    for (const TensorSpec& spec : namegen_tensors(headerless_namegen)) {
        names.push_back(spec.name);
    }

    EXPECT_EQ(names,
              (std::vector<std::string>{"embedding.weight", "gru.weight_ih_l0", "gru.weight_ih_l1", "gru.weight_hh_l0",
                                        "gru.weight_hh_l1", "gru.bias_ih_l0", "gru.bias_ih_l1", "gru.bias_hh_l0",
                                        "gru.bias_hh_l1", "linear.weight", "linear.bias"}));
    EXPECT_EQ(elements(namegen_tensors(headerless_namegen)) * sizeof(float), 45'663'232U);
}

TEST_F(NamegenWeights, WithoutAHeaderHaveTheOriginalSizes) {
    const std::vector<float> values = numbered(elements(namegen_tensors(headerless_namegen)));
    std::ofstream(path("model.bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));

    const WeightBlob blob = read_namegen_weights(path("model.bin"));

    EXPECT_EQ(shape_of_namegen(blob), headerless_namegen);
    EXPECT_EQ(namegen_weights(blob).layers[1].input.front(), values[1703936]);
    EXPECT_EQ(namegen_weights(blob).layers[0].hidden_bias.front(), values[11147264]);
    EXPECT_EQ(namegen_weights(blob).linear_bias.front(), values[11415552]);
}

TEST_F(NamegenWeights, AreRefusedUnlessTheyFitTogether) {
    using Specs = std::vector<TensorSpec>;
    const Specs good = namegen_tensors({.embedding = 3, .hidden = 4, .layers = 2});
    const auto without = [&](std::size_t i) {
        Specs specs = good;
        specs.erase(specs.begin() + static_cast<std::ptrdiff_t>(i));
        return specs;
    };
    const auto with_shape = [&](std::size_t i, std::vector<std::uint64_t> shape) {
        Specs specs = good;
        specs[i].shape = std::move(shape);
        return specs;
    };
    const auto with = [&](TensorSpec spec) {
        Specs specs = good;
        specs.push_back(std::move(spec));
        return specs;
    };
    const std::vector<std::pair<Specs, const char*>> rows{
        {without(0), "tensor 'embedding.weight' is missing"},
        {without(9), "tensor 'linear.weight' is missing"},
        {without(10), "tensor 'linear.bias' is missing"},
        {without(4), "'gru.weight_ih_l1' is not one of this model's"},
        {without(2), "tensor 'gru.weight_ih_l1' is missing"},
        {with_shape(0, {255, 3}), "got shape [255,3], expected [256,1..65536]"},
        {with_shape(0, {256}), "got shape [256], expected"},
        {with_shape(0, {256, 0}), "got shape [256,0], expected"},
        {with_shape(9, {256, 5}), "'gru.weight_ih_l0': got shape [12,3], expected [15,3]"},
        {with_shape(1, {12, 4}), "'gru.weight_ih_l0': got shape [12,4], expected [12,3]"},
        {with({"gru.weight_ih_l0_reverse", {12, 3}}), "'gru.weight_ih_l0_reverse' is not one of this model's"},
        {namegen_tensors({.embedding = 1, .hidden = 1, .layers = 5}), "got 5 layers, expected 1 to 4"},
        {with_shape(9, {256, 65536}), "expected [196608,3]"},  // before 40 GB are taken for it
    };
    for (const auto& [specs, what] : rows) {
        test::write_safetensors(path("w.safetensors"), specs, std::vector<float>(elements(specs)));

        const Error error = test::error_of([&] { return read_namegen_weights(path("w.safetensors")); });

        EXPECT_EQ(error.code(), ExitCode::bad_data);
        EXPECT_EQ(error.text().id, "E-MOD-047");
        EXPECT_THAT(error.text().what, HasSubstr(what));
    }
    std::ofstream(path("short.bin")) << "1234";
    EXPECT_EQ(test::error_of([&] { return read_namegen_weights(path("short.bin")); }).text().id, "E-MOD-048");
}

TEST(RandomNamegenWeights, AreTheSameForASeedAndSpreadAsTorchSpreadsThem) {
    const GruShape shape{.embedding = 30, .hidden = 100, .layers = 2};
    const WeightBlob one = random_namegen_weights(shape, 1);
    const WeightBlob again = random_namegen_weights(shape, 1);
    const WeightBlob other = random_namegen_weights(shape, 2);

    EXPECT_TRUE(std::ranges::equal(one.floats(), again.floats()));
    EXPECT_FALSE(std::ranges::equal(one.floats(), other.floats()));
    const auto variance_of = [](std::span<const float> weights, float most) {
        double squares = 0;
        for (const float weight : weights) {
            EXPECT_LE(std::abs(weight), most);
            squares += static_cast<double>(weight) * static_cast<double>(weight);
        }
        return squares / static_cast<double>(weights.size());
    };
    EXPECT_NEAR(variance_of(namegen_weights(one).layers[1].hidden, 0.1F), 0.01 / 3, 1e-4);
    EXPECT_NEAR(variance_of(namegen_weights(one).embedding, 1.7321F), 1, 0.06);  // 7680: six standard errors
}

TEST(NamegenApp, CountsTheProductsOfTheStepsAfterTheFirst) {
    const std::unique_ptr<OpenApp> app = namegen_app().open(default_settings(namegen_app().keys()));

    const double flop = app->flop_per_item(random_namegen_weights({.embedding = 2, .hidden = 1024, .layers = 2}, 1));

    EXPECT_EQ(flop, 2.0 * 9 * (9.0 * 1024 * 1024 + 256.0 * 1024));
    EXPECT_TRUE(app->runs_on(DeviceKind::host));
    EXPECT_TRUE(app->runs_on(DeviceKind::cuda));
}

}  // namespace
}  // namespace sluice::namegen

#include "apps/gpt2/gpt2_app.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include "apps/gpt2/gpt2_options.hpp"
#include "core/config/schema.hpp"
#include "core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

AppSettings settings_for_ids() {
    AppSettings settings = default_settings(gpt2_keys());
    settings.set("generate.prompts", std::string("ids"));
    settings.set("generate.results", std::string("ids"));
    return settings;
}

TEST(Gpt2App, RunsOnEveryKindOfDevice) {
    const auto app = gpt2_app().open(settings_for_ids());

    EXPECT_TRUE(app->runs_on(DeviceKind::host));
    EXPECT_TRUE(app->runs_on(DeviceKind::cuda));
}

TEST(Gpt2App, QuantisesKeysAndValuesOfTwoBytesOnGpusOnly) {
    const auto message = [&](const std::string& cache, Precision precision, DeviceKind kind) -> std::string {
        AppSettings settings = default_settings(gpt2_keys());
        settings.set("generate.kv_cache_dtype", cache);
        const auto app = gpt2_app().open(settings);
        try {
            app->check(precision, kind);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::configuration);
            return render(error.text());
        }
        return {};
    };

    for (const std::string cache : {"fp8", "int8"}) {
        EXPECT_EQ(message(cache, Precision::bf16, DeviceKind::cuda), "");
        EXPECT_EQ(message(cache, Precision::fp16, DeviceKind::cuda), "");
        EXPECT_EQ(message(cache, Precision::fp8, DeviceKind::cuda), "");
        for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::tf32x3, Precision::certified}) {
            const std::string refusal = message(cache, precision, DeviceKind::cuda);
            EXPECT_THAT(refusal, testing::HasSubstr("E-CFG-174")) << name_of(precision);
            EXPECT_THAT(refusal, testing::HasSubstr("got \"" + cache + "\"")) << name_of(precision);
            EXPECT_EQ(message("auto", precision, DeviceKind::cuda), "");
        }
        EXPECT_THAT(message(cache, Precision::fp32, DeviceKind::host), testing::HasSubstr("in fp32 on the host"));
    }
}

/// Of what the first rank makes of `settings`.
std::string refusal_of(const AppSettings& settings) {
    try {
        static_cast<void>(gpt2_app().open(settings)->make_codec());
    } catch (const Error& error) {
        return render(error.text());
    }
    return {};
}

TEST(Gpt2App, RefusesConfigsThatItsWeightsHaveNoUseFor) {
    const TemporaryFolder folder;
    const std::filesystem::path config = folder.path() / "any.json";
    const std::filesystem::path headerless = folder.path() / "weights.bin";
    test::write_file(config, test::config_json(default_config()).dump());
    test::write_file(headerless, "fp32");
    AppSettings random = settings_for_ids();
    random.set("model.generation_config", config);
    AppSettings from_file = settings_for_ids();
    from_file.set_weights(headerless);

    EXPECT_THAT(refusal_of(random), testing::HasSubstr("E-CFG-105]: model.generation_config: is of a checkpoint"));
    random.set("model.config", config);
    EXPECT_EQ(refusal_of(random), "");
    EXPECT_EQ(refusal_of(from_file), "");
    from_file.set("model.generation_config", config);
    EXPECT_THAT(refusal_of(from_file), testing::HasSubstr("E-CFG-105]: model.generation_config: would not be read"));
    from_file.set("model.config", config);
    EXPECT_THAT(refusal_of(from_file), testing::HasSubstr("E-CFG-105]: model.config: would not be read"));
}

TEST(Gpt2App, RefusesTokensThatAreAddedBesideVocabularyAndMerges) {
    const TemporaryFolder folder;
    test::write_checkpoint(folder.path(), random_checkpoint(test::small_config(), 1));
    AppSettings settings = default_settings(gpt2_keys());
    settings.set_weights(folder.path() / "model.safetensors");
    const std::string before = refusal_of(settings);

    test::write_file(folder.path() / "added_tokens.json", R"({"<new>": 260})");

    EXPECT_EQ(before, "");
    EXPECT_THAT(refusal_of(settings), testing::HasSubstr("E-TOK-058"));
    settings.set("model.vocabulary", folder.path() / "vocab.json");
    EXPECT_EQ(refusal_of(settings), "");
}

TEST(Gpt2App, TakesNoNumberForNothingThatIsNot) {
    AppSettings settings = settings_for_ids();
    settings.set("generate.temperature", 1e-300);
    settings.set("generate.top_p", 1e-300);
    settings.set("generate.seed", std::uint64_t{1});

    const TokenSampling sampling = read_options(settings).sampling;

    EXPECT_EQ(sampling.temperature, std::numeric_limits<float>::min());
    EXPECT_EQ(sampling.top_p, std::numeric_limits<float>::min());
}

TEST(Gpt2App, OpensOnRanksThatDoNotKnowTheWeights) {
    AppSettings settings = settings_for_ids();
    settings.set("model.generation_config", std::filesystem::path("generation_config.json"));

    EXPECT_NO_THROW(static_cast<void>(gpt2_app().open(settings)));
}

}  // namespace
}  // namespace sluice::gpt2

#include "apps/gpt2/gpt2_app.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/gpt2/gpt2_options.hpp"
#include "core/config/schema.hpp"
#include "core/error.hpp"
#include "tests/support/error_of.hpp"
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
        EXPECT_THAT(message(cache, Precision::bf16, DeviceKind::host), testing::HasSubstr("in bf16 on the host"));
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

TEST(Gpt2App, ReadsItsOptions) {
    AppSettings settings = default_settings(gpt2_keys());
    const Options defaults = read_options(settings);
    settings.set("model.attention", std::string("prefix"));
    settings.set("generate.max_prompt_tokens", std::uint64_t{3});
    settings.set("generate.max_new_tokens", std::uint64_t{4});
    settings.set("generate.long_prompts", std::string("cut"));
    settings.set("generate.temperature", 0.5);
    settings.set("generate.top_k", std::uint64_t{5});
    settings.set("generate.top_p", 0.25);
    settings.set("generate.repetition_penalty", 1.5);
    settings.set("generate.seed", (std::uint64_t{1} << 40U) + 7);
    settings.set("generate.end_of_text", false);
    settings.set("generate.stop", std::vector<std::string>{"a", "b"});
    settings.set("generate.token_log_probabilities", true);

    const Options options = read_options(settings);

    EXPECT_EQ(options.mask, AttentionMask::prefix);
    EXPECT_EQ(options.sampling.max_prompt, 3U);
    EXPECT_EQ(options.sampling.max_new, 4U);
    EXPECT_TRUE(options.cuts_prompts);
    EXPECT_EQ(options.sampling.temperature, 0.5F);
    EXPECT_EQ(options.sampling.top_k, 5U);
    EXPECT_EQ(options.sampling.top_p, 0.25F);
    EXPECT_EQ(options.sampling.repetition_penalty, 1.5F);
    EXPECT_EQ(options.sampling.seed, (std::uint64_t{1} << 40U) + 7);
    EXPECT_FALSE(options.stops_at_end);
    EXPECT_EQ(options.stops, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(options.sampling.log_probabilities);
    EXPECT_TRUE(options.gives_token_log_probabilities);
    EXPECT_FALSE(options.gives_log_probability);
    EXPECT_EQ(defaults.mask, AttentionMask::causal);
    EXPECT_FALSE(defaults.cuts_prompts);
    EXPECT_EQ(defaults.sampling.temperature, 0);
    EXPECT_EQ(defaults.sampling.top_p, 1);
    EXPECT_EQ(defaults.sampling.repetition_penalty, 1);
    EXPECT_TRUE(defaults.stops_at_end);
    EXPECT_FALSE(defaults.sampling.log_probabilities);
}

/// Where the options contradict each other; empty: nowhere.
std::string contradiction_of(const AppSettings& settings) {
    try {
        static_cast<void>(read_options(settings));
    } catch (const Error& error) {
        EXPECT_EQ(error.text().id, "E-CFG-105");
        return error.text().where;
    }
    return {};
}

TEST(Gpt2App, RefusesStringsThatStopNoText) {
    AppSettings texts = default_settings(gpt2_keys());
    AppSettings ids = settings_for_ids();
    EXPECT_EQ(contradiction_of(ids), "");

    texts.set("generate.stop", std::vector<std::string>{"x", ""});
    ids.set("generate.stop", std::vector<std::string>{"x"});

    EXPECT_EQ(contradiction_of(texts), "generate.stop");
    EXPECT_EQ(contradiction_of(ids), "generate.stop");
}

TEST(Gpt2App, TakesTheFilesBesideItsWeightsThatTheJobDoesNotName) {
    const TemporaryFolder folder;
    const auto file = [&](const char* name) { return folder.path() / name; };
    test::write_file(file("tokenizer.json"), "{}");
    std::filesystem::create_symlink("nowhere", file("generation_config.json"));  // whoever reads it says so
    AppSettings settings = default_settings(gpt2_keys());
    settings.set_weights(file("model.safetensors"));

    const Files found = read_options(settings).files;
    settings.set("model.vocabulary", std::filesystem::path("v.json"));
    const Files with_vocabulary = read_options(settings).files;

    EXPECT_EQ(found.config, file("config.json"));
    EXPECT_EQ(found.generation_config, file("generation_config.json"));
    EXPECT_EQ(found.tokenizer, file("tokenizer.json"));
    EXPECT_EQ(found.merges, std::nullopt);
    EXPECT_EQ(with_vocabulary.tokenizer, std::nullopt);
    EXPECT_EQ(with_vocabulary.vocabulary, "v.json");
    EXPECT_EQ(with_vocabulary.merges, file("merges.txt"));
    AppSettings with_merges = default_settings(gpt2_keys());
    with_merges.set_weights(file("model.safetensors"));
    with_merges.set("model.merges", std::filesystem::path("m.txt"));
    EXPECT_EQ(read_options(with_merges).files.tokenizer, std::nullopt);
    EXPECT_EQ(read_options(with_merges).files.vocabulary, file("vocab.json"));
    settings.set("model.tokenizer", std::filesystem::path("t.json"));
    EXPECT_EQ(contradiction_of(settings), "model.tokenizer");
}

/// Files that the job names are checked as its settings.
TEST(Gpt2App, TellsWhichFilesItHasFoundItself) {
    const TemporaryFolder folder;
    test::write_checkpoint(folder.path(), random_checkpoint(test::small_config(), 1));
    AppSettings settings = default_settings(gpt2_keys());
    settings.set_weights(folder.path() / "model.safetensors");
    const auto names = [&] {
        std::vector<std::string> all;
        for (const AppFile& found : gpt2_app().open(settings)->files()) {
            all.emplace_back(found.name);
        }
        return all;
    };

    EXPECT_EQ(names(), (std::vector<std::string>{"model.config", "model.vocabulary", "model.merges"}));
    settings.set("model.config", folder.path() / "config.json");
    EXPECT_EQ(names(), (std::vector<std::string>{"model.vocabulary", "model.merges"}));
    test::write_checkpoint(folder.path(), random_checkpoint(test::small_llama_config(), 1));
    EXPECT_EQ(names(), std::vector<std::string>{});  // it wants a tokenizer.json
}

TEST(Gpt2App, SaysWhereMissingWeightsComeFromOrWhatLiesThereInstead) {
    const TemporaryFolder folder;
    const auto hint_for = [&](const std::filesystem::path& weights) {
        AppSettings settings = settings_for_ids();
        settings.set_weights(weights);
        const Error error = test::error_of([&] { return gpt2_app().open(settings)->files(); });
        EXPECT_EQ(error.code(), ExitCode::no_input);
        EXPECT_EQ(error.text().id, "E-MOD-036");
        EXPECT_EQ(error.text().where, weights.native());
        return error.text().hint;
    };
    const std::string whole = (folder.path() / "model.safetensors").native();
    const std::string index = whole + ".index.json";

    EXPECT_THAT(hint_for(whole), testing::HasSubstr("huggingface-cli download gpt2"));
    EXPECT_THAT(hint_for(index), testing::HasSubstr("huggingface-cli download gpt2"));
    EXPECT_THAT(hint_for(folder.path()), testing::HasSubstr("huggingface-cli download gpt2"));
    test::write_file(index, R"({"weight_map": {"a": "a.safetensors"}})");
    EXPECT_EQ(hint_for(whole), "name '" + index + "', which is there");
    EXPECT_EQ(hint_for(folder.path()), "name '" + index + "', which is there");
    std::filesystem::remove(index);
    test::write_file(whole, "");
    EXPECT_EQ(hint_for(index), "name '" + whole + "', which is there");
}

TEST(Gpt2App, SaysWhereAMissingFileOfSeveralComesFrom) {
    const TemporaryFolder folder;
    const std::filesystem::path index = folder.path() / "model.safetensors.index.json";
    test::write_file(index, R"({"weight_map": {"a": "a.safetensors"}})");
    AppSettings settings = settings_for_ids();
    settings.set_weights(index);

    const AppFile shard = gpt2_app().open(settings)->files().back();

    EXPECT_EQ(shard.name, "model.weights: a.safetensors");
    EXPECT_THAT(shard.hint, testing::HasSubstr("huggingface-cli download gpt2"));
}

TEST(Gpt2App, FitsPromptsAndContinuationsIntoTheModelsPositions) {
    const TemporaryFolder folder;
    test::write_file(folder.path() / "config.json", test::config_json(test::small_config()).dump());
    AppSettings settings = settings_for_ids();
    settings.set("model.config", folder.path() / "config.json");
    settings.set("generate.max_prompt_tokens", std::uint64_t{40});
    settings.set("generate.max_new_tokens", std::uint64_t{8});  // of 48

    const auto app = gpt2_app().open(settings);
    const WeightBlob weights = app->random_weights(1);

    // Matrices of 24 by 72, 24, 40 and 40 in 11 blocks, for 20 prompt tokens and 8 new ones, which a head scores.
    EXPECT_EQ(app->flop_per_item(weights), 2.0 * (11 * 24 * (72 + 24 + 40 + 40) * 28 + 24 * 260 * 8));
    settings.set("generate.max_prompt_tokens", std::uint64_t{41});
    const Error error = test::error_of([&] { return gpt2_app().open(settings)->random_weights(1); });
    EXPECT_EQ(error.text().id, "E-CFG-173");
}

TEST(Gpt2App, LeavesRoomForAPromptBehindItsBeginning) {
    const TemporaryFolder folder;
    test::write_checkpoint(folder.path(), random_checkpoint(test::small_llama_config(), 1));
    test::write_file(folder.path() / "tokenizer.json", test::llama_tokenizer_json().dump());
    AppSettings settings = default_settings(gpt2_keys());
    settings.set_weights(folder.path() / "model.safetensors");

    settings.set("generate.max_prompt_tokens", std::uint64_t{2});
    EXPECT_EQ(refusal_of(settings), "");
    settings.set("generate.max_prompt_tokens", std::uint64_t{1});
    EXPECT_THAT(refusal_of(settings), testing::HasSubstr("E-CFG-176"));
}

TEST(Gpt2App, OpensOnRanksThatDoNotKnowTheWeights) {
    AppSettings settings = settings_for_ids();
    settings.set("model.generation_config", std::filesystem::path("generation_config.json"));

    EXPECT_NO_THROW(static_cast<void>(gpt2_app().open(settings)));
}

}  // namespace
}  // namespace sluice::gpt2

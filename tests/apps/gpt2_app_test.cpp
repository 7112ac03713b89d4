#include "apps/gpt2/gpt2_app.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "apps/gpt2/gpt2_options.hpp"
#include "core/config/schema.hpp"
#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

std::unique_ptr<OpenApp> open_for_ids() {
    AppSettings settings = default_settings(gpt2_keys());
    settings.set("generate.prompts", std::string("ids"));
    settings.set("generate.results", std::string("ids"));
    return gpt2_app().open(settings);
}

TEST(Gpt2App, RunsOnEveryKindOfDevice) {
    const auto app = open_for_ids();

    EXPECT_TRUE(app->runs_on(DeviceKind::host));
    EXPECT_TRUE(app->runs_on(DeviceKind::cuda));
}

TEST(Gpt2App, QuantisesKeysAndValuesOnGpusInBf16AndFp16Only) {
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
        for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::tf32x3, Precision::certified}) {
            const std::string refusal = message(cache, precision, DeviceKind::cuda);
            EXPECT_THAT(refusal, testing::HasSubstr("E-CFG-174")) << name_of(precision);
            EXPECT_THAT(refusal, testing::HasSubstr("got \"" + cache + "\"")) << name_of(precision);
            EXPECT_EQ(message("auto", precision, DeviceKind::cuda), "");
        }
        EXPECT_THAT(message(cache, Precision::fp32, DeviceKind::host), testing::HasSubstr("in fp32 on the host"));
    }
}

TEST(Gpt2App, HasNoGenerationConfigForRandomWeightsOfNoConfig) {
    AppSettings settings = default_settings(gpt2_keys());
    settings.set("model.generation_config", std::filesystem::path("generation_config.json"));

    EXPECT_THAT([&] { static_cast<void>(gpt2_app().open(settings)); },
                testing::Throws<Error>(testing::Property(
                    &Error::text, testing::Field(&ErrorText::where, testing::StrEq("model.generation_config")))));
    settings.set("model.config", std::filesystem::path("config.json"));
    EXPECT_NO_THROW(static_cast<void>(gpt2_app().open(settings)));
}

}  // namespace
}  // namespace sluice::gpt2

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
    EXPECT_GT(app->least_chunk(DeviceKind::cuda), app->least_chunk(DeviceKind::host));
}

TEST(Gpt2App, KeepsKeysAndValuesInFp8OnGpusInBf16AndFp16Only) {
    AppSettings settings = default_settings(gpt2_keys());
    settings.set("generate.kv_cache_dtype", std::string("fp8"));
    const auto in_fp8 = gpt2_app().open(settings);
    const auto as_computed = open_for_ids();
    const auto message = [&](Precision precision, DeviceKind kind) -> std::string {
        try {
            as_computed->check(precision, kind);
            in_fp8->check(precision, kind);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::configuration);
            return render(error.text());
        }
        return {};
    };

    EXPECT_EQ(message(Precision::bf16, DeviceKind::cuda), "");
    EXPECT_EQ(message(Precision::fp16, DeviceKind::cuda), "");
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::tf32x3, Precision::certified}) {
        EXPECT_THAT(message(precision, DeviceKind::cuda), testing::HasSubstr("E-CFG-174")) << name_of(precision);
    }
    EXPECT_THAT(message(Precision::fp32, DeviceKind::host), testing::HasSubstr("in fp32 on the host"));
}

}  // namespace
}  // namespace sluice::gpt2

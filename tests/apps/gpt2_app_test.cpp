#include "apps/gpt2/gpt2_app.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "apps/gpt2/gpt2_options.hpp"
#include "core/config/schema.hpp"

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

}  // namespace
}  // namespace sluice::gpt2

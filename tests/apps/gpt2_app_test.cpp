#include "apps/gpt2/gpt2_app.hpp"

#include <gtest/gtest.h>

#include <string>

#include "apps/gpt2/gpt2_options.hpp"
#include "core/config/schema.hpp"
#include "core/error.hpp"

namespace sluice::gpt2 {
namespace {

TEST(Gpt2App, HasNothingToCertify) {
    AppSettings settings = default_settings(gpt2_keys());
    settings.set("generate.prompts", std::string("ids"));
    settings.set("generate.results", std::string("ids"));
    const auto app = gpt2_app().open(settings);
    try {
        static_cast<void>(app->load(WeightBlob::of_floats(1), Precision::certified, DeviceKind::cuda));
        FAIL() << "it was not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::configuration);
        EXPECT_EQ(error.text().where, "run.precision");
    }
}

}  // namespace
}  // namespace sluice::gpt2

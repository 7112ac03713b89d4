#include "apps/registry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/config/config.hpp"
#include "core/config/schema.hpp"
#include "tests/support/job_file_reference.hpp"

namespace sluice {
namespace {

/// Defaults, but such that the app opens no file.
std::unique_ptr<OpenApp> open_without_files(const App& app) {
    AppSettings settings = default_settings(app.keys());
    if (app.name() == "gpt2") {
        settings.set("generate.prompts", std::string("ids"));
        settings.set("generate.results", std::string("ids"));
    }
    return app.open(settings);
}

TEST(Registry, FindsEveryAppByItsName) {
    std::set<std::string_view> names;
    const Apps& apps = standard_apps();
    for (const App* app : apps.all()) {
        EXPECT_EQ(apps.find(app->name()), app);
        EXPECT_FALSE(app->summary().empty());
        const std::unique_ptr<OpenApp> opened = app->open(default_settings(app->keys()));
        EXPECT_GT(opened->flop_per_item(opened->random_weights(1)), 0);
        names.insert(app->name());
    }

    EXPECT_EQ(names.size(), apps.all().size());
    EXPECT_TRUE(names.contains("classifier"));
}

TEST(Registry, SaysWhatEveryAppsProductsAreComputedAs) {
    const auto work_of = [](std::string_view app, Precision precision) {
        return open_without_files(*standard_apps().find(app))->product_work(precision);
    };

    EXPECT_EQ(work_of("classifier", Precision::tf32x3), (ProductWork{.precision = Precision::tf32, .products = 3}));
    EXPECT_EQ(work_of("namegen", Precision::tf32x3), (ProductWork{.precision = Precision::fp16, .products = 3}));
    EXPECT_EQ(work_of("gpt2", Precision::tf32x3), (ProductWork{.precision = Precision::fp16, .products = 3}));
    EXPECT_EQ(work_of("gpt2", Precision::fp16x2), (ProductWork{.precision = Precision::fp16, .products = 2}));
    for (const App* app : standard_apps().all()) {
        EXPECT_EQ(work_of(app->name(), Precision::certified), ProductWork{.precision = Precision::fp16});
        EXPECT_EQ(work_of(app->name(), Precision::bf16), ProductWork{.precision = Precision::bf16});
        EXPECT_EQ(open_without_files(*app)->supports_fp8(), app->name() == "gpt2");
    }
}

TEST(Registry, OpensAnAppOfWhichAWorkerKnowsWhatRankZerosCodecSays) {
    for (const App* app : standard_apps().all()) {
        const auto opened = open_without_files(*app);

        EXPECT_EQ(opened->shape(), opened->make_codec()->shape()) << app->name();
    }
}

TEST(Registry, HasNoAppWhoseKeysAreThoseOfEveryJob) {
    const std::vector<AppKeys> keys = standard_apps().keys();
    for (const AppKeys& owner : keys) {
        EXPECT_EQ(JobSchema(keys, owner.app).own_keys().size(), owner.keys.size()) << owner.app;
    }
}

TEST(JobFileReference, NamesEveryAppsKeysAndWhoseTheyAre) {
    const JobFileReference reference(SLUICE_SOURCE_DIR);
    for (const AppKeys& owner : standard_apps().keys()) {
        for (const KeySpec& key : owner.keys) {
            EXPECT_EQ(reference.problem_with(key, owner.app), "") << owner.app;
        }
    }
}

TEST(Registry, HasNoAppOfAnotherName) {
    EXPECT_EQ(standard_apps().find("Classifier"), nullptr);
    EXPECT_EQ(standard_apps().find(""), nullptr);
}

}  // namespace
}  // namespace sluice

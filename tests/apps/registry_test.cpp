#include "apps/registry.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

TEST(Registry, FindsEveryAppByItsName) {
    std::set<std::string_view> names;
    const Apps& apps = standard_apps();
    for (const App* app : apps.all()) {
        EXPECT_EQ(apps.find(app->name()), app);
        EXPECT_FALSE(app->summary().empty());
        EXPECT_GT(app->flop_per_item(), 0);
        names.insert(app->name());
    }

    EXPECT_EQ(names.size(), apps.all().size());
    EXPECT_TRUE(names.contains("classifier"));
}

TEST(Registry, HasNoAppOfAnotherName) {
    EXPECT_EQ(standard_apps().find("Classifier"), nullptr);
    EXPECT_EQ(standard_apps().find(""), nullptr);
}

}  // namespace
}  // namespace sluice

#include "apps/registry.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

TEST(Registry, FindsEveryAppByItsName) {
    std::set<std::string_view> names;
    for (const App* app : all_apps()) {
        EXPECT_EQ(find_app(app->name()), app);
        EXPECT_FALSE(app->summary().empty());
        EXPECT_GT(app->flop_per_item(), 0);
        names.insert(app->name());
    }

    EXPECT_EQ(names.size(), all_apps().size());
    EXPECT_TRUE(names.contains("classifier"));
}

TEST(Registry, HasNoAppOfAnotherName) {
    EXPECT_EQ(find_app("Classifier"), nullptr);
    EXPECT_EQ(find_app(""), nullptr);
}

}  // namespace
}  // namespace sluice

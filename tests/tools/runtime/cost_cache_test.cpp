#include "tools/runtime/cost_cache.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

constexpr MeasuredCosts some_costs{.costs = {.upload = {1e-6, 2e-9},
                                             .compute = {60e-6, 0.1},
                                             .download = {0, 0},
                                             .whole_items = 224,
                                             .largest_measured = 3584,
                                             .is_complete = false},
                                   .job_items = 5'000'000'000,
                                   .least_items = 3,
                                   .most_items = 16384};

class CostCache : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "sluice" / "costs.json"; }
    void write(const std::string& text) const {
        std::filesystem::create_directories(file().parent_path());
        std::ofstream(file()) << text;
    }

    TemporaryFolder folder_;
};

TEST_F(CostCache, FindsWhatWasKept) {
    EXPECT_EQ(find_costs(file(), "a"), std::nullopt);
    EXPECT_EQ(keep_costs(file(), "a", some_costs), "");
    MeasuredCosts others = some_costs;
    others.most_items = 7;
    EXPECT_EQ(keep_costs(file(), "b", others), "");
    EXPECT_EQ(find_costs(file(), "a"), some_costs);
    EXPECT_EQ(find_costs(file(), "b"), others);
    EXPECT_EQ(find_costs(file(), "c"), std::nullopt);
    EXPECT_EQ(keep_costs(file(), "a", others), "");
    EXPECT_EQ(find_costs(file(), "a"), others);
}

TEST_F(CostCache, KeepsPeaksBesideCosts) {
    EXPECT_EQ(keep_peak(file(), "a", 5e10), "");
    EXPECT_EQ(find_costs(file(), "a"), std::nullopt);
    EXPECT_EQ(keep_costs(file(), "a", some_costs), "");
    EXPECT_EQ(keep_peak(file(), "b", 6e10), "");

    EXPECT_EQ(find_peak(file(), "a"), 5e10);
    EXPECT_EQ(find_peak(file(), "b"), 6e10);
    EXPECT_EQ(find_peak(file(), "c"), std::nullopt);
    EXPECT_EQ(find_costs(file(), "a"), some_costs);
    for (const char* const text :
         {R"({"schema":3,"costs":{},"peaks":[]})", R"({"schema":3,"costs":{},"peaks":{"a":1}})",
          R"({"schema":3,"costs":{},"peaks":{"a":{"flop":-1}}})"}) {
        write(text);
        EXPECT_EQ(find_peak(file(), "a"), std::nullopt) << text;
        EXPECT_EQ(keep_peak(file(), "a", 5e10), "") << text;
        EXPECT_EQ(find_peak(file(), "a"), 5e10) << text;
    }
}

TEST_F(CostCache, TakesAFileThatIsNotItsOwnForNone) {
    for (
        const char* const text :
        {"", "{", "[]", "null", R"({"schema":3,"costs":{"a":{}}})", R"({"schema":1})", R"({"schema":1,"costs":[]})",
         R"({"schema":2,"costs":{"a":{}}})", R"({"schema":3,"costs":{"a":17}})",
         R"({"schema":3,"costs":{"a":{"upload":[1,2],"compute":[1],"download":[0,0],"whole_items":1,"largest_measured":1,"is_complete":true,"job_items":1,"least_items":1,"most_items":1}}})",
         R"({"schema":3,"costs":{"a":{"upload":[-1,2],"compute":[1,1],"download":[0,0],"whole_items":1,"largest_measured":1,"is_complete":true,"job_items":1,"least_items":1,"most_items":1}}})",
         R"({"schema":3,"costs":{"a":{"upload":[1,2],"compute":[1,1],"download":[0,0],"whole_items":0,"largest_measured":1,"is_complete":true,"job_items":1,"least_items":1,"most_items":1}}})",
         R"({"schema":3,"costs":{"a":{"upload":[1,-2],"compute":[1,1],"download":[0,0],"whole_items":1,"largest_measured":1,"is_complete":true,"job_items":1,"least_items":1,"most_items":1}}})",
         R"({"schema":3,"costs":{"a":{"upload":[1,2],"compute":[1,1],"download":[0,0],"whole_items":1,"largest_measured":1,"is_complete":true,"job_items":1,"least_items":2,"most_items":1}}})",
         R"({"schema":4,"costs":{"a":{"upload":[1,2],"compute":[1,1],"download":[0,0],"whole_items":1,"largest_measured":1,"is_complete":true,"job_items":1,"least_items":1,"most_items":1}}})"}) {
        write(text);
        EXPECT_EQ(find_costs(file(), "a"), std::nullopt) << text;
        EXPECT_EQ(keep_costs(file(), "a", some_costs), "") << text;
        EXPECT_EQ(find_costs(file(), "a"), some_costs) << text;
    }
}

TEST_F(CostCache, DropsTheOldestOfMany) {
    EXPECT_EQ(keep_costs(file(), "first", some_costs), "");
    EXPECT_EQ(keep_costs(file(), "second", some_costs), "");
    EXPECT_EQ(keep_costs(file(), "first", some_costs), "");
    int kept = 0;
    while (find_costs(file(), "second") && kept < 1000) {
        ASSERT_EQ(keep_costs(file(), std::to_string(kept++), some_costs), "");
    }
    EXPECT_LT(kept, 1000);
    EXPECT_EQ(find_costs(file(), "first"), some_costs) << "it was kept again after the second";
    EXPECT_EQ(find_costs(file(), std::to_string(kept - 1)), some_costs);
}

TEST_F(CostCache, SaysWhyItCannotKeep) {
    std::ofstream(folder_.path() / "sluice") << "a file where the folder should be";
    EXPECT_NE(keep_costs(file(), "a", some_costs), "");
}

TEST_F(CostCache, LivesWhereTheUserKeepsCaches) {
    const auto set = [](const char* name, const char* value) {
        ASSERT_EQ(value == nullptr ? unsetenv(name) : setenv(name, value, 1), 0);
    };
    const char* const home = std::getenv("HOME");
    const std::string kept = home == nullptr ? "" : home;
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    const std::optional<std::string> kept_cache = cache == nullptr ? std::nullopt : std::optional<std::string>(cache);
    set("XDG_CACHE_HOME", "/somewhere");
    EXPECT_EQ(cost_cache_file(), "/somewhere/sluice/costs.json");
    set("XDG_CACHE_HOME", "relative");
    set("HOME", "/home/me");
    EXPECT_EQ(cost_cache_file(), "/home/me/.cache/sluice/costs.json");
    set("XDG_CACHE_HOME", nullptr);
    set("HOME", "");
    EXPECT_EQ(cost_cache_file(), std::nullopt);
    set("HOME", kept.c_str());
    set("XDG_CACHE_HOME", kept_cache ? kept_cache->c_str() : nullptr);
}

}  // namespace
}  // namespace sluice

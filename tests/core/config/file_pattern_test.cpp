#include "core/config/file_pattern.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace sluice {
namespace {

using Path = std::filesystem::path;

TEST(FilePattern, HasWildcardsOnlyWhereTheyMatchSomethingElse) {
    for (const char* const pattern :
         {"*.csv", "a?", "parts/[ab].csv", "[!a]", "*/x.csv", "[[]*", "[]]", "[*][?]x[a-c]"}) {
        EXPECT_TRUE(has_wildcards(pattern)) << pattern;
    }
    for (const char* const path :
         {"", "a.csv", "/x/y", "[", "a[b", "a]b", "[]", "[b/c]", "\\", "[*]", "a[[]b[?].csv"}) {
        EXPECT_FALSE(has_wildcards(path)) << path;
    }
}

TEST(FilePattern, OfAPathMatchesNothingElse) {
    EXPECT_EQ(as_pattern("/x/a.csv"), "/x/a.csv");
    EXPECT_EQ(as_pattern("[a]*?.csv"), "[[]a][*][?].csv");
    for (const char* const path : {"", "a.csv", "[", "***", "[a]/x?/[[]", "\\*", "[*]"}) {
        EXPECT_EQ(without_brackets(as_pattern(path)), path) << path;
        EXPECT_FALSE(has_wildcards(as_pattern(path))) << path;
    }
}

TEST(FilePattern, StartsInAFolderWhoseNameMatchesItselfAlone) {
    EXPECT_EQ(pattern_in("", "*.csv"), "*.csv");
    EXPECT_EQ(pattern_in("runs", "*.csv"), "runs/*.csv");
    EXPECT_EQ(pattern_in("runs[1]", "a*.csv"), "runs[[]1]/a*.csv");
    EXPECT_EQ(pattern_in("runs[1]", "/in/*.csv"), "/in/*.csv");
}

TEST(FilePattern, IsChangedBeforeItsFirstWildcard) {
    const auto moved = [](const Path& folders) { return "/new[1]" / folders; };

    EXPECT_EQ(change_pattern("in/parts/*.csv", moved), "/new[[]1]/in/parts/*.csv");
    EXPECT_EQ(change_pattern("in/*/[ab].csv", moved), "/new[[]1]/in/*/[ab].csv");
    EXPECT_EQ(change_pattern("in/a.csv", moved), "/new[[]1]/in/a.csv");
    EXPECT_EQ(change_pattern("old[[]2]/a.csv", moved), "/new[[]1]/old[[]2]/a.csv");
    EXPECT_EQ(change_pattern("*.csv", [](const Path& folders) { return folders / "x"; }), "./x/*.csv");
}

TEST(FilePattern, WouldMatchFilesThatAreNotThere) {
    const TemporaryFolder folder;
    const Path& in = folder.path();

    EXPECT_TRUE(would_match(in / "*.csv", in / "a.csv"));
    EXPECT_TRUE(would_match(in / "*.csv", in / "x/../a.csv"));
    EXPECT_TRUE(would_match(in / "x/../*/[a-c].csv", in / "parts/b.csv"));
    EXPECT_FALSE(would_match(in / "*.csv", in / "a.npy"));
    EXPECT_FALSE(would_match(in / "*.csv", in / ".a.csv"));
    EXPECT_FALSE(would_match(in / "*.csv", in / "parts/a.csv"));
    EXPECT_FALSE(would_match(in / "parts/*.csv", in / "a.csv"));
    EXPECT_FALSE(would_match(in / "*", in));
}

}  // namespace
}  // namespace sluice

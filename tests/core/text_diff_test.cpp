#include "tests/support/text_diff.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

TEST(TextDiff, IsEmptyForEqualTexts) {
    EXPECT_EQ(text_diff("", ""), "");
    EXPECT_EQ(text_diff("a\nb\n", "a\nb\n"), "");
}

TEST(TextDiff, ShowsLinesThatWentAndCame) {
    EXPECT_EQ(text_diff("a\nb\nc\n", "a\nc\nd\n"), "  a\n- b\n  c\n+ d\n");
    EXPECT_EQ(text_diff("", "a\n"), "+ a\n");
    EXPECT_EQ(text_diff("a\n", ""), "- a\n");
}

TEST(TextDiff, ShowsAMissingNewline) {
    EXPECT_EQ(text_diff("a\n", "a"), "- a\n+ a(no newline at the end)\n");
}

}  // namespace
}  // namespace sluice::test

#include "scheduler/text_table.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TextTable, AlignsTheFirstColumnLeftAndTheOthersRight) {
    EXPECT_EQ(text_table({{"event", "rank 0", "1"}, {"go", "1.5", "22.75"}}),
              "event  rank 0      1\ngo        1.5  22.75\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
    EXPECT_EQ(text_table({{"a", "nœud…"}, {"µs", "12345"}}), "a   nœud…\nµs  12345\n");
}

TEST(TextTable, LeavesNoSpaceBeforeALinesEnd) {
    EXPECT_EQ(text_table({{"longer than", "x"}, {"short"}, {}}), "longer than  x\nshort\n\n");
}

TEST(Shortened, CutsBetweenCharacters) {
    EXPECT_EQ(shortened("abc", 3), "abc");
    EXPECT_EQ(shortened("abcd", 3), "ab…");
    EXPECT_EQ(shortened("äöüß", 3), "äö…");
    EXPECT_EQ(shortened("äöü", 3), "äöü");
    EXPECT_EQ(shortened("abcd", 1), "…");
    EXPECT_EQ(shortened("", 1), "");
}

}  // namespace
}  // namespace sluice

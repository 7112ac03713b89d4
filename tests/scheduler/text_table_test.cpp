#include "scheduler/text_table.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TextTable, AlignsTheFirstColumnLeftAndTheOthersRight) {
    TextTable table;
    table.add_row({"event", "rank 0", "1"});
    table.add_row({"go", "1.5", "22.75"});

    EXPECT_EQ(table.text(), "event  rank 0      1\ngo        1.5  22.75\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
    TextTable table;
    table.add_row({"a", "nœud…"});
    table.add_row({"µs", "12345"});

    EXPECT_EQ(table.text(), "a   nœud…\nµs  12345\n");
}

TEST(TextTable, LeavesNoSpaceBeforeALinesEnd) {
    TextTable table;
    table.add_row({"longer than", "x"});
    table.add_row({"short"});
    table.add_row({});

    EXPECT_EQ(table.text(), "longer than  x\nshort\n\n");
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

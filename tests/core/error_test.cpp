#include "core/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(Error, RendersWhereWhatAndHint) {
    EXPECT_EQ(render({.id = "E-CFG-009", .where = "job.toml:14:3", .what = "unknown key", .hint = "see docs"}),
              "sluice: error[E-CFG-009]: job.toml:14:3: unknown key\n  hint: see docs");
    EXPECT_EQ(render({.id = "E-RUN-001", .what = "it broke"}), "sluice: error[E-RUN-001]: it broke");
}

TEST(Error, KeepsTheFirstLineWithin400BytesAndOneLine) {
    const std::string text =
        render({.id = "E-CFG-009", .where = "a\nb", .what = std::string(1000, 'x'), .hint = "hint"});

    const std::string first = text.substr(0, text.find('\n'));
    EXPECT_LE(first.size(), 400 + std::string("…").size());
    EXPECT_NE(first.find("a\\x0ab"), std::string::npos);
    EXPECT_TRUE(text.ends_with("\n  hint: hint"));
    EXPECT_TRUE(render({.id = "E-CFG-009", .what = "x", .hint = "see\n\x1b"}).ends_with("\n  hint: see\\x0a\\x1b"));
}

TEST(Error, CutsALineInFrontOfACharacterOrAnEscapeAndSaysSo) {
    const std::string start = "sluice: error[E-CFG-009]: ";
    const auto first_line = [](const std::string& what) { return render({.id = "E-CFG-009", .what = what}); };
    const auto fill = [&](std::size_t to) { return std::string(to - start.size(), 'x'); };

    EXPECT_EQ(first_line(fill(400)), start + fill(400));
    EXPECT_EQ(first_line(fill(401)), start + fill(400) + "…");
    EXPECT_EQ(first_line(fill(398) + "東"), start + fill(398) + "…");
    for (std::size_t kept = 397; kept < 400; ++kept) {
        EXPECT_EQ(first_line(fill(kept) + escaped("\x1b[31m")), start + fill(kept) + "…");
    }
    EXPECT_EQ(first_line(fill(396) + escaped("\x1b[31m")), start + fill(396) + "\\x1b…");
    EXPECT_EQ(first_line(fill(399) + "\\xyz"), start + fill(399) + "\\…") << "a backslash of the user's";
}

TEST(Error, CarriesItsCodeAndItsRenderedText) {
    const Error error(ExitCode::no_input, {.id = "E-IO-001", .where = "in.txt", .what = "No such file"});

    EXPECT_EQ(error.code(), ExitCode::no_input);
    EXPECT_STREQ(error.what(), "sluice: error[E-IO-001]: in.txt: No such file");
}

TEST(Expects, ThrowsOnlyWhenTheConditionDoesNotHold) {
    EXPECT_NO_THROW(expects(true, "fine"));
    EXPECT_THROW(expects(false, "broken"), ContractViolation);
}

TEST(Error, IsANoticeWhereTheStopWasAskedFor) {
    EXPECT_EQ(render({.id = "E-RUN-075", .what = "stopped by SIGTERM"}),
              "sluice: notice[E-RUN-075]: stopped by SIGTERM");
    EXPECT_EQ(render({.id = "E-RUN-076", .what = "hangs"}), "sluice: error[E-RUN-076]: hangs");
}

}  // namespace
}  // namespace sluice

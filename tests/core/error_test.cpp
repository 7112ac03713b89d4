#include "core/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(Error, QuotesPlainTextAsItIs) {
    EXPECT_EQ(quoted("chunk_items"), "'chunk_items'");
    EXPECT_EQ(quoted(std::string("")), "''");
    EXPECT_EQ(quoted("Zürich 東京"), "'Zürich 東京'");
}

TEST(Error, EscapesWhatWouldConfuseATerminal) {
    using namespace std::string_view_literals;

    EXPECT_EQ(escaped("\x1b[31mred\x7f\0\n"sv), "\\x1b[31mred\\x7f\\x00\\x0a");
    EXPECT_EQ(escaped("\xc2\x9b"), "\\xc2\\x9b") << "C1: an escape sequence in one character";
    EXPECT_EQ(escaped("a\xff\xc3"), "a\\xff\\xc3") << "not UTF-8";
    EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
}

TEST(Error, EscapesInJsonWhatATerminalMayObey) {
    EXPECT_EQ(escaped_json("{\"host\": \"\xC2\x9B\x31m\x7F\xC2\x80\"}"), R"({"host": "\u009b1m\u007f\u0080"})");
    EXPECT_EQ(escaped_json("\xC2\xA0\xC3\x9B\xE2\x82\xC2 n\xC2"), "\xC2\xA0\xC3\x9B\xE2\x82\xC2 n\xC2")
        << "other characters";
}

TEST(Error, LeavesOutTheMiddleOfLongTextBetweenCharactersAndEscapes) {
    const std::string half(100, 'a');
    const auto some = [](std::size_t count) { return std::string(count, 'a'); };

    EXPECT_EQ(escaped(some(200)), some(200));
    EXPECT_EQ(escaped(some(201)), half + "…" + half);
    EXPECT_EQ(escaped(some(199) + "ü"), half + "…" + some(98) + "ü");
    EXPECT_EQ(escaped("ü" + some(199)), "ü" + some(98) + "…" + half);
    EXPECT_EQ(escaped(some(150) + "ü" + some(99)), half + "…" + some(99)) << "cut before a character";
    EXPECT_EQ(escaped(some(99) + "ü" + some(150)), some(99) + "…" + half);
    EXPECT_EQ(escaped(some(197) + "\x01"), half + "…" + some(96) + "\\x01");
    EXPECT_EQ(escaped(some(1000) + "/labels.csv"), half + "…" + some(89) + "/labels.csv");
    EXPECT_EQ(escaped(std::string(60, '\x02')).size(), 200 + std::string("…").size());
    EXPECT_EQ(escaped(std::string(1'000'000, '\x02')).size(), 200 + std::string("…").size());
}

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

#include "core/text/escape.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice {
namespace {

TEST(Escape, QuotesPlainTextAsItIs) {
    EXPECT_EQ(quoted("chunk_items"), "'chunk_items'");
    EXPECT_EQ(quoted(std::string("")), "''");
    EXPECT_EQ(quoted("Zürich 東京"), "'Zürich 東京'");
}

TEST(Escape, EscapesWhatWouldConfuseATerminal) {
    using namespace std::string_view_literals;

    EXPECT_EQ(escaped("\x1b[31mred\x7f\0\n"sv), "\\x1b[31mred\\x7f\\x00\\x0a");
    EXPECT_EQ(escaped("\xc2\x9b"), "\\xc2\\x9b") << "C1: an escape sequence in one character";
    EXPECT_EQ(escaped("a\xff\xc3"), "a\\xff\\xc3") << "not UTF-8";
    EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
}

TEST(Escape, EscapesInJsonWhatATerminalMayObey) {
    EXPECT_EQ(escaped_json("{\"host\": \"\xC2\x9B\x31m\x7F\xC2\x80\"}"), R"({"host": "\u009b1m\u007f\u0080"})");
    EXPECT_EQ(escaped_json("\xC2\xA0\xC3\x9B\xE2\x82\xC2 n\xC2"), "\xC2\xA0\xC3\x9B\xE2\x82\xC2 n\xC2")
        << "other characters";
}

TEST(Escape, LeavesOutTheMiddleOfLongTextBetweenCharactersAndEscapes) {
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

}  // namespace
}  // namespace sluice

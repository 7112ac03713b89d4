// What becomes of a text before its words are encoded.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/text_cutter.hpp"
#include "apps/gpt2/word_splitter.hpp"

namespace sluice::gpt2 {
namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text, WordPattern pattern = WordPattern::gpt2) {
    Words words;
    const auto take = [&](std::string_view word) { words.emplace_back(word); };
    WordSplitter(pattern).split(text, take);
    return words;
}

TEST(WordSplitter, CutsAsThePublishedPatternDoes) {
    EXPECT_EQ(words_of(""), Words{});
    EXPECT_EQ(words_of("Hello world"), (Words{"Hello", " world"}));
    EXPECT_EQ(words_of("they'll we've I'm it's 'tis"),
              (Words{"they", "'ll", " we", "'ve", " I", "'m", " it", "'s", " '", "tis"}));
    EXPECT_EQ(words_of("IT'S"), (Words{"IT", "'", "S"}));
    EXPECT_EQ(words_of("in 2026, 3.5%"), (Words{"in", " 2026", ",", " 3", ".", "5", "%"}));
    EXPECT_EQ(words_of("a  b   \n\n c  "), (Words{"a", " ", " b", "   \n\n", " c", "  "}));
    EXPECT_EQ(words_of("tab\there"), (Words{"tab", "\t", "here"}));
    EXPECT_EQ(words_of("Ärger mit 中文 und ٣٤"), (Words{"Ärger", " mit", " 中文", " und", " ٣٤"}));
    EXPECT_EQ(words_of("x² Ⅷ"), (Words{"x", "²", " Ⅷ"}));
    EXPECT_EQ(words_of("\u00a0\u3000z"), (Words{"\u00a0", "\u3000", "z"}));
    EXPECT_EQ(words_of("a\u180eb"), (Words{"a", "\u180e", "b"}));  // a sign since Unicode 6.3
    EXPECT_EQ(words_of("😀!? …"), (Words{"😀!?", " …"}));
}

TEST(WordSplitter, TakesIllFormedBytesForSigns) {
    EXPECT_EQ(words_of("\xff"), Words{"\xff"});
    EXPECT_EQ(words_of("a\xff\xfe b"), (Words{"a", "\xff\xfe", " b"}));
    EXPECT_EQ(words_of("  \x80"), (Words{" ", " \x80"}));
    EXPECT_EQ(words_of("\xe2\x82z"), (Words{"\xe2\x82", "z"}));        // cut off
    EXPECT_EQ(words_of("\xf0\xc3\xa9"), (Words{"\xf0", "\xc3\xa9"}));  // before a letter
    EXPECT_EQ(words_of("\xed\xa0\x80!"), Words{"\xed\xa0\x80!"});      // a surrogate
    EXPECT_EQ(words_of(std::string_view("\0a", 2)), (Words{std::string(1, '\0'), "a"}));
}

TEST(WordSplitter, CutsAsLlama3AndQwen2Do) {
    for (const WordPattern pattern : {WordPattern::llama3, WordPattern::qwen2}) {
        const auto words = [&](std::string_view text) { return words_of(text, pattern); };
        EXPECT_EQ(words(""), Words{});
        EXPECT_EQ(words("Hello world"), (Words{"Hello", " world"}));
        EXPECT_EQ(words("they'LL we've IT'S 'tis"), (Words{"they", "'LL", " we", "'ve", " IT", "'S", " '", "tis"}));
        EXPECT_EQ(words("a  b   \n\n c  "), (Words{"a", " ", " b", "   \n\n", " c", "  "}));
        EXPECT_EQ(words("tab\there\r\n\r\n  x"), (Words{"tab", "\there", "\r\n\r\n", " ", " x"}));
        EXPECT_EQ(words("(hello) \"quoted\" .Net #tag"),
                  (Words{"(hello", ")", " \"", "quoted", "\"", " .", "Net", " #", "tag"}));
        EXPECT_EQ(words(" !?\n\nx\n"), (Words{" !?\n\n", "x", "\n"}));
        EXPECT_EQ(words("\u00a0\u3000z a\u180eb"), (Words{"\u00a0", "\u3000z", " a", "\u180eb"}));
        EXPECT_EQ(words("😀!? …e\u0301"), (Words{"😀!?", " …", "e", "\u0301"}));
        EXPECT_EQ(words("a\xff\xfe b\x80"), (Words{"a", "\xff\xfe", " b", "\x80"}));
    }
    EXPECT_EQ(words_of("in 12345, 1²Ⅷ٣٤", WordPattern::llama3), (Words{"in", " ", "123", "45", ",", " ", "1²Ⅷ", "٣٤"}));
    EXPECT_EQ(words_of("in 12345, 1²Ⅷ٣", WordPattern::qwen2),
              (Words{"in", " ", "1", "2", "3", "4", "5", ",", " ", "1", "²", "Ⅷ", "٣"}));
}

/// More than PCRE2 takes steps back by itself.
TEST(WordSplitter, CutsARunOfElevenMillionSpaces) {
    std::string text(11'000'000, ' ');
    EXPECT_EQ(words_of(text, WordPattern::qwen2), Words{text});
    text += 'x';
    const Words words = words_of(text, WordPattern::llama3);
    ASSERT_EQ(words.size(), 2U);
    EXPECT_EQ(words[1], " x");
}

/// Pieces in brackets, tokens as #id.
std::string cut(const TextCutter& cutter, std::string_view text) {
    std::string pieces;
    const auto take_text = [&](std::string_view piece) { pieces.append("[").append(piece).append("]"); };
    const auto take_token = [&](TokenId token) { pieces += "#" + std::to_string(token); };
    cutter.cut(text, take_text, take_token);
    return pieces;
}

TEST(TextCutter, FindsAddedTokensTheLongestFirst) {
    const TextCutter cutter({{"<a>", 1}, {"<a><b>", 2}, {".*|x", 3}, {std::string("\0\xff", 2), 4}}, false);

    EXPECT_EQ(cut(cutter, ""), "");
    EXPECT_EQ(cut(cutter, "no tokens"), "[no tokens]");
    EXPECT_EQ(cut(cutter, "<a>"), "#1");
    EXPECT_EQ(cut(cutter, "<a><a><b> <a><"), "#1#2[ ]#1[<]");
    EXPECT_EQ(cut(cutter, "a.*|xb.x"), "[a]#3[b.x]");
    EXPECT_EQ(cut(cutter, std::string_view("\xff\0\xff", 3)), "[\xff]#4");
}

TEST(TextCutter, FindsThousandsOfAddedTokens) {
    std::vector<AddedToken> tokens;
    for (TokenId i = 0; i < 5000; ++i) {
        tokens.push_back({"<|custom_token_" + std::to_string(i) + "|>", i});
    }
    tokens.push_back({std::string(40'000, 'x'), 5000});
    const TextCutter cutter(tokens, true);

    EXPECT_EQ(cut(cutter, "<|custom_token_4999|>y<|custom_token_5000|>"), "#4999[y<|custom_token_5000|>]");
    EXPECT_EQ(cut(cutter, std::string(40'001, 'x')), "#5000[x]");
}

TEST(TextCutter, FindsTheLongestAsLookingForAllDoes) {
    std::mt19937 random(std::random_device{}());
    const auto random_text = [&](std::size_t length) {
        std::string text(length, ' ');
        std::ranges::generate(text, [&] { return "ab\xff"[random() % 3]; });
        return text;
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<AddedToken> tokens;
        for (TokenId i = 0; i < 12; ++i) {
            tokens.push_back({random_text(1 + random() % 5), i});
        }
        const std::string text = random_text(60);
        std::string expected;
        std::string piece;
        for (std::size_t at = 0; at < text.size();) {
            const AddedToken* best = nullptr;  // of equal ones the first
            for (const AddedToken& token : tokens) {
                if (text.compare(at, token.text.size(), token.text) == 0 &&
                    (best == nullptr || token.text.size() > best->text.size())) {
                    best = &token;
                }
            }
            if (best == nullptr) {
                piece += text[at++];
                continue;
            }
            expected += (piece.empty() ? "" : "[" + piece + "]") + "#" + std::to_string(best->id);
            piece.clear();
            at += best->text.size();
        }
        expected += piece.empty() ? "" : "[" + piece + "]";

        ASSERT_EQ(cut(TextCutter(tokens, false), text), expected) << text;
    }
}

/// Looking for each length would take minutes.
TEST(TextCutter, FindsTokensOfAThousandLengths) {
    std::vector<AddedToken> tokens;
    for (TokenId i = 0; i < 3000; ++i) {
        tokens.push_back({std::string(i + 1, 'a') + "b", i});
    }

    EXPECT_TRUE(cut(TextCutter(tokens, false), std::string(1'000'000, 'a') + "b") ==
                "[" + std::string(997'000, 'a') + "]#2999");
}

/// Swapping neighbours would take minutes.
TEST(TextCutter, OrdersAMillionMarks) {
    std::string text = "a";
    std::string expected = "\u00e1";
    for (int i = 0; i < 500'000; ++i) {
        text += "\u0301";
    }
    for (int i = 0; i < 500'000; ++i) {
        text += "\u0316";  // below, so before those above
        expected += "\u0316";
    }
    for (int i = 1; i < 500'000; ++i) {
        expected += "\u0301";
    }

    EXPECT_TRUE(cut(TextCutter({}, true), text) == "[" + expected + "]");
}

TEST(TextCutter, ComposesWhatIsBetweenThem) {
    const TextCutter cutter({{"<e\u0301>", 1}}, true);

    EXPECT_EQ(cut(cutter, "plain, ñ"), "[plain, ñ]");
    EXPECT_EQ(cut(cutter, "e\u0301<e\u0301>e\u0323\u0302"), "[\u00e9]#1[\u1ec7]");
    EXPECT_EQ(cut(cutter, "\u1112\u1161\u11ab \u212b"), "[\ud55c \u00c5]");
    EXPECT_EQ(cut(cutter, "\u0958"), "[\u0915\u093c]");              // no composition has this character
    EXPECT_EQ(cut(cutter, "e\xcc\u0301\xff"), "[e\xcc\u0301\xff]");  // apart
    EXPECT_EQ(cut(cutter, "\uac00\u11a7\u11a8"), "[\uac00\u11a7\u11a8]");
    EXPECT_EQ(cut(cutter, "\uac00\u11a8"), "[\uac01]");
    EXPECT_EQ(cut(cutter, "\u0f73\u0f71"), "[\u0f71\u0f71\u0f72]");  // marks of a mark of class 0
    EXPECT_EQ(TextCutter({}, false).most_growth(), 1U);
    EXPECT_EQ(cut(cutter, "\U0001d160").size() - 2, 4 * cutter.most_growth());
}

}  // namespace
}  // namespace sluice::gpt2

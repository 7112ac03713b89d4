#include "apps/gpt2/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
#include "apps/gpt2/text_cutter.hpp"
#include "apps/gpt2/word_splitter.hpp"
#include "core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

using Words = std::vector<std::string>;

std::vector<std::string> single_bytes() {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
        tokens.emplace_back(1, static_cast<char>(byte));
    }
    return tokens;
}

struct Vocabulary {
    std::vector<std::string> tokens = single_bytes();
    std::vector<Merge> merges;
};

/// Merges over few letters, so that words are full of them; some make what others make, and parts may come later.
Vocabulary random_vocabulary(std::mt19937& engine, std::size_t tokens) {
    Vocabulary made;
    std::vector<TokenId> parts{'a', 'b', 'c'};
    while (made.merges.size() < tokens) {
        std::uniform_int_distribution<std::size_t> any(0, parts.size() - 1);
        const Merge merge{parts[any(engine)], parts[any(engine)], static_cast<TokenId>(made.tokens.size())};
        const std::string result = made.tokens[merge.left] + made.tokens[merge.right];
        if (std::ranges::find(made.tokens, result) == made.tokens.end()) {
            made.tokens.push_back(result);
            made.merges.push_back(merge);
            parts.push_back(merge.result);
        }
    }
    for (const TokenId left : parts) {
        for (const TokenId right : parts) {
            const auto result = std::ranges::find(made.tokens, made.tokens[left] + made.tokens[right]);
            const bool is_merge = std::ranges::any_of(
                made.merges, [&](const Merge& merge) { return merge.left == left && merge.right == right; });
            if (result != made.tokens.end() && !is_merge && engine() % 2 == 0) {
                made.merges.push_back({left, right, static_cast<TokenId>(result - made.tokens.begin())});
            }
        }
    }
    if (engine() % 2 == 0) {
        std::ranges::shuffle(made.merges, engine);
    }
    return made;
}

/// Of all pairs the one whose merge comes first, the leftmost of these, until none is left.
std::vector<TokenId> plainly_encoded(const Vocabulary& vocabulary, const std::string& word) {
    std::vector<TokenId> tokens;
    for (const char c : word) {
        tokens.push_back(static_cast<unsigned char>(c));
    }
    const auto merge_once = [&] {
        for (const Merge& merge : vocabulary.merges) {
            const std::array<TokenId, 2> pair{merge.left, merge.right};
            const auto at = std::ranges::search(tokens, pair).begin();
            if (at != tokens.end()) {
                *at = merge.result;
                tokens.erase(at + 1);
                return true;
            }
        }
        return false;
    };
    while (merge_once()) {
    }
    return tokens;
}

TEST(BytePairs, MergeAsThePlainProcedureDoes) {
    std::mt19937 engine(std::random_device{}());
    for (int round = 0; round < 60; ++round) {
        const Vocabulary vocabulary = random_vocabulary(engine, 1 + engine() % 40);
        const BytePairs pairs(vocabulary.tokens, vocabulary.merges);
        for (int i = 0; i < 40; ++i) {
            std::string word;
            for (std::size_t length = 1 + engine() % (i % 4 == 0 ? 300 : 48); length > 0; --length) {
                word += static_cast<char>('a' + engine() % 3);
            }
            std::vector<TokenId> tokens;

            pairs.encode(word, tokens);

            ASSERT_EQ(tokens, plainly_encoded(vocabulary, word)) << word;
        }
    }
}

TEST(BytePairs, EncodeAMegabyteOfOneLetterAsTheLongestTokens) {
    Vocabulary vocabulary;
    for (TokenId part = 'A', i = 0; i < 6; ++i) {  // AA, AAAA, … of 64 letters
        const auto result = static_cast<TokenId>(vocabulary.tokens.size());
        vocabulary.tokens.push_back(vocabulary.tokens[part] + vocabulary.tokens[part]);
        vocabulary.merges.push_back({part, part, result});
        part = result;
    }
    std::vector<TokenId> tokens;

    BytePairs(vocabulary.tokens, vocabulary.merges).encode(std::string(1'000'000, 'A'), tokens);

    EXPECT_EQ(tokens, std::vector<TokenId>(15'625, 261));
}

TEST(BytePairs, TellTheFirstRepeatedMerge) {
    const Merge ab{'a', 'b', 256};
    const Merge abc{256, 'c', 257};
    const Merge other_abc{'a', 258, 257};
    const Merge other_ab{'a', 'b', 258};

    EXPECT_EQ(BytePairs::first_repeated(std::vector{abc, ab, other_abc}), 3U);
    EXPECT_EQ(BytePairs::first_repeated(std::vector{ab, abc, other_ab, ab}), 2U);
    EXPECT_EQ(BytePairs::first_repeated({}), 0U);
}

TEST(BytePairs, NeverMakeSpecialTokens) {
    Vocabulary vocabulary;
    vocabulary.tokens.insert(vocabulary.tokens.end(), {"ab", "a", "abc"});
    vocabulary.merges = {{'a', 'b', 256}};
    const std::vector<TokenId> special{257, 258};
    for (const BytePairs::Words words : {BytePairs::Words::by_merges, BytePairs::Words::whole}) {
        const BytePairs pairs(vocabulary.tokens, vocabulary.merges, special, words);
        std::vector<TokenId> tokens;
        pairs.encode("a", tokens);
        pairs.encode("abc", tokens);
        EXPECT_EQ(tokens, (std::vector<TokenId>{'a', 256, 'c'}));
        EXPECT_EQ(pairs.bytes(257), "a");
    }
}

TEST(BytePairs, MakeWholeTokensOfWordsThatMergesWouldNot) {
    Vocabulary vocabulary;
    vocabulary.tokens.insert(vocabulary.tokens.end(), {"ab", "abc", "bc", "cab"});
    vocabulary.merges = {{'b', 'c', 258}};
    const auto encoded = [&](BytePairs::Words words, std::string_view word) {
        std::vector<TokenId> tokens;
        BytePairs(vocabulary.tokens, vocabulary.merges, {}, words).encode(word, tokens);
        return tokens;
    };

    EXPECT_EQ(encoded(BytePairs::Words::by_merges, "abc"), (std::vector<TokenId>{'a', 258}));
    EXPECT_EQ(encoded(BytePairs::Words::whole, "abc"), std::vector<TokenId>{257});
    EXPECT_EQ(encoded(BytePairs::Words::whole, "abca"), (std::vector<TokenId>{'a', 258, 'a'}));
    EXPECT_EQ(encoded(BytePairs::Words::whole, "b"), std::vector<TokenId>{'b'});
    EXPECT_EQ(encoded(BytePairs::Words::whole, "bc"), std::vector<TokenId>{258});
}

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

class TokenizerFiles : public testing::Test {
protected:
    [[nodiscard]] Tokenizer read() {
        test::write_file(folder_.path() / "vocab.json", vocab_.dump());
        test::write_file(folder_.path() / "merges.txt", merges_);
        return Tokenizer::from_vocabulary(folder_.path() / "vocab.json", folder_.path() / "merges.txt");
    }

    [[nodiscard]] Tokenizer read_json(const nlohmann::json& json) {
        test::write_file(folder_.path() / "tokenizer.json", json.dump());
        return Tokenizer::from_json(folder_.path() / "tokenizer.json");
    }

    template <class Action>
    [[nodiscard]] static std::string refusal(Action&& action) {
        try {
            static_cast<void>(action());
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::bad_data);
            return error.text().id + " " + error.text().what;
        }
        return "none";
    }

    TemporaryFolder folder_;
    nlohmann::json vocab_ = test::spelt_vocabulary();
    std::string merges_ = test::small_merges;
};

TEST_F(TokenizerFiles, EncodeAndDecode) {
    const Tokenizer tokenizer = read();
    std::vector<TokenId> ids;
    std::string text;

    tokenizer.encode("the theft", ids);
    tokenizer.decode(ids, text);

    EXPECT_EQ(ids, (std::vector<TokenId>{257, 258, 'f', 't'}));
    EXPECT_EQ(text, "the theft");
    EXPECT_EQ(tokenizer.size(), 260U);
    EXPECT_EQ(tokenizer.find("<|endoftext|>"), 259U);
    EXPECT_EQ(tokenizer.find("<|startoftext|>"), std::nullopt);
}

TEST_F(TokenizerFiles, GiveAnyBytesBack) {
    const Tokenizer tokenizer = read();
    std::mt19937 engine(std::random_device{}());
    for (int i = 0; i < 2000; ++i) {
        std::string bytes(engine() % 100, '\0');
        std::ranges::generate(bytes, [&] { return static_cast<char>(engine() % (i % 2 == 0 ? 256 : 128)); });
        std::vector<TokenId> ids;
        std::string back;

        tokenizer.encode(bytes, ids);
        tokenizer.decode(ids, back);

        ASSERT_EQ(back, bytes);
    }
}

TEST_F(TokenizerFiles, TakeASpecialTokenInATextForText) {
    const Tokenizer tokenizer = read();
    std::vector<TokenId> ids;

    tokenizer.encode("<|endoftext|>", ids);

    EXPECT_EQ(ids.size(), 13U);
}

TEST_F(TokenizerFiles, SayTheSameAsTokenizerJson) {
    nlohmann::json json = test::tokenizer_json();
    nlohmann::json in_pairs = json;
    in_pairs["model"]["merges"] = nlohmann::json::parse(R"([["t", "h"], ["th", "e"], ["\u0120", "the"]])");
    nlohmann::json with_added = json;
    with_added["model"]["vocab"].erase("<|endoftext|>");
    json["post_processor"] = {{"type", "ByteLevel"}, {"trim_offsets", false}};
    nlohmann::json without_type = json;
    without_type["model"].erase("type");
    for (const nlohmann::json& each : {json, in_pairs, with_added, without_type}) {
        std::vector<TokenId> ids;
        const Tokenizer tokenizer = read_json(each);

        tokenizer.encode("the theft", ids);

        EXPECT_EQ(ids, (std::vector<TokenId>{257, 258, 'f', 't'}));
        EXPECT_EQ(tokenizer.find("<|endoftext|>"), 259U);
    }
}

std::vector<TokenId> encoded(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<TokenId> ids;
    tokenizer.encode(text, ids);
    return ids;
}

TEST_F(TokenizerFiles, MayBeOfLlama3) {
    nlohmann::json json = test::llama_tokenizer_json();
    const TokenId whole = 260;
    json["model"]["vocab"]["hen"] = whole;
    const Tokenizer tokenizer = read_json(json);

    EXPECT_EQ(encoded(tokenizer, "the the hen"), (std::vector<TokenId>{257, 258, ' ', 'h', 'e', 'n'}));
    EXPECT_EQ(encoded(tokenizer, "hen"), std::vector<TokenId>{whole});
    EXPECT_EQ(encoded(tokenizer, "<|endoftext|>").size(), 13U);
    EXPECT_EQ(std::vector(tokenizer.beginning().begin(), tokenizer.beginning().end()), std::vector<TokenId>{258});
    EXPECT_EQ(tokenizer.most_tokens(10), 10U);
    json["model"]["ignore_merges"] = false;
    EXPECT_EQ(encoded(read_json(json), "hen"), (std::vector<TokenId>{'h', 'e', 'n'}));
}

TEST_F(TokenizerFiles, MayBeOfQwen2) {
    const Tokenizer tokenizer = read_json(test::qwen_tokenizer_json());

    EXPECT_EQ(encoded(tokenizer, "the<think> the"), (std::vector<TokenId>{257, 260, 258}));
    EXPECT_EQ(encoded(tokenizer, "e\u0301"), (std::vector<TokenId>{0xC3, 0xA9}));
    EXPECT_TRUE(encoded(tokenizer, {}).empty());
    EXPECT_TRUE(tokenizer.beginning().empty());
    EXPECT_GE(tokenizer.most_tokens(4), encoded(tokenizer, "\U0001d160").size());
    std::string text;
    tokenizer.decode(encoded(tokenizer, "the<think>"), text);
    EXPECT_EQ(text, "the<think>");
}

TEST_F(TokenizerFiles, AreRefusedWithTheTokenOrLine) {
    const nlohmann::json sound = vocab_;
    const auto with = [&](auto change) {
        vocab_ = sound;
        change(vocab_);
        return refusal([&] { return read(); });
    };
    EXPECT_EQ(with([](auto& v) { v["the"] = 4294967296U; }),
              "E-TOK-056 token 'the' has id 4294967296, expected 0 to 259");
    EXPECT_EQ(with([](auto& v) { v["the"] = -1; }), "E-TOK-056 token 'the' has id -1, expected 0 to 259");
    EXPECT_EQ(with([](auto& v) { v["the"] = 1.5; }), "E-TOK-056 token 'the' has id 1.5, expected 0 to 259");
    EXPECT_EQ(with([](auto& v) { v["the"] = 256; }), "E-TOK-056 two tokens have id 256; one is 'the'");
    EXPECT_EQ(with([](auto& v) { v["x y"] = 260; }), "E-TOK-056 token 'x y' has a character that spells no byte");
    EXPECT_EQ(with([](auto& v) {
                  v.erase("b");
                  v["qq"] = 'b';
              }),
              "E-TOK-059 no token for byte 0x62");
    EXPECT_EQ(with([](auto& v) {
                  v.erase("th");
                  v["qq"] = 256;
              }),
              "E-TOK-057 no token 'th', which line 2 of the merges needs");
    EXPECT_EQ(with([](auto& v) { v = nlohmann::json::array({1}); }),
              "E-TOK-055 expected an object of tokens and their ids");
    vocab_ = sound;
    merges_ = "#version: 0.2\nt h\nth e\nt h\n";
    EXPECT_EQ(refusal([&] { return read(); }), "E-TOK-057 line 4: joins what a merge before it joins");
    merges_ = "t h\nth\n";
    EXPECT_EQ(refusal([&] { return read(); }),
              "E-TOK-057 line 2: got 'th', expected two tokens and a space between them");
    test::write_file(folder_.path() / "vocab.json", R"({"a": 1,)");
    EXPECT_EQ(refusal([&] {
                  return Tokenizer::from_vocabulary(folder_.path() / "vocab.json", folder_.path() / "merges.txt");
              }).substr(0, 22),
              "E-TOK-055 no JSON from");
}

TEST_F(TokenizerFiles, OfAnotherKindAreRefused) {
    const auto with = [&](auto change) {
        nlohmann::json json = test::tokenizer_json();
        change(json);
        return refusal([&] { return read_json(json); }).substr(0, 26);
    };
    EXPECT_EQ(with([](auto& j) { j["model"]["type"] = "Unigram"; }), "E-TOK-058 model.type is \"U");
    EXPECT_EQ(with([](auto& j) { j["normalizer"] = {{"type", "NFKC"}}; }), "E-TOK-058 normalizer is \"N");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["type"] = "Split"; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["add_prefix_space"] = true; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["model"]["unk_token"] = "<unk>"; }), "E-TOK-058 model.unk_token ");
    EXPECT_EQ(with([](auto& j) { j["model"]["byte_fallback"] = true; }), "E-TOK-058 model.byte_fallb");
    EXPECT_EQ(with([](auto& j) { j["model"]["ignore_merges"] = 1; }), "E-TOK-058 model.ignore_mer");
    EXPECT_EQ(with([](auto& j) {
                  j["post_processor"] = {{"type", "TemplateProcessing"}};
              }),
              "E-TOK-058 post_processor p");
    EXPECT_EQ(with([](auto& j) { j["post_processor"] = {{"type", "BertProcessing"}}; }), "E-TOK-058 post_processor i");
    EXPECT_EQ(with([](auto& j) { j["decoder"] = {{"type", "Metaspace"}}; }), "E-TOK-058 decoder is \"Meta");
    EXPECT_EQ(with([](auto& j) { j["model"].erase("merges"); }), "E-TOK-058 model.merges or ");
    EXPECT_EQ(with([](auto& j) {
                  j["added_tokens"][0]["special"] = false;
                  j["added_tokens"][0]["lstrip"] = true;
              }),
              "E-TOK-058 added_tokens has");
    EXPECT_EQ(with([](auto& j) { j["added_tokens"] = 5; }), "E-TOK-058 model.merges or ");
    EXPECT_EQ(with([](auto& j) { j["added_tokens"][0].erase("content"); }), "E-TOK-056 added_tokens hol");
    const auto with_llama = [&](auto change) {
        nlohmann::json json = test::llama_tokenizer_json();
        change(json);
        return refusal([&] { return read_json(json); }).substr(0, 26);
    };
    EXPECT_EQ(with_llama([](auto&) {}), "none");
    const auto split = nlohmann::json::json_pointer("/pre_tokenizer/pretokenizers/0");
    EXPECT_EQ(with_llama([&](auto& j) { j[split]["pattern"]["Regex"] = "\\s+"; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with_llama([&](auto& j) { j[split]["behavior"] = "Removed"; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with_llama([&](auto& j) { j[split]["invert"] = true; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with_llama([](auto& j) { j["pre_tokenizer"]["pretokenizers"][1]["use_regex"] = true; }),
              "E-TOK-058 pre_tokenizer is");
    const auto added_before = nlohmann::json::json_pointer("/post_processor/processors/1");
    EXPECT_EQ(with_llama([&](auto& j) { j[added_before]["special_tokens"]["B"]["ids"] = {260}; }),
              "E-TOK-056 texts begin with");
    EXPECT_EQ(with_llama([&](auto& j) { j[added_before]["special_tokens"]["B"].erase("ids"); }),
              "E-TOK-058 post_processor h");
    EXPECT_EQ(with_llama([&](auto& j) { std::swap(j[added_before]["single"][0], j[added_before]["single"][1]); }),
              "E-TOK-058 post_processor p");
    nlohmann::json qwen = test::qwen_tokenizer_json();
    qwen["added_tokens"][1]["normalized"] = true;
    EXPECT_EQ(refusal([&] { return read_json(qwen); }).substr(0, 26), "E-TOK-058 added_tokens has");
    qwen["normalizer"] = nullptr;
    EXPECT_EQ(refusal([&] { return read_json(qwen); }), "none");
    qwen["added_tokens"].push_back({{"id", 261}, {"content", "<x>"}, {"special", false}, {"normalized", false}});
    EXPECT_EQ(refusal([&] { return read_json(qwen); }).substr(0, 26), "E-TOK-058 added_tokens tha");
    nlohmann::json deep = 1;
    for (int i = 0; i < 20; ++i) {
        deep = nlohmann::json::array({deep});
    }
    EXPECT_EQ(with([&](auto& j) { j["version"] = deep; }), "E-TOK-055 JSON that is nes");
}

}  // namespace
}  // namespace sluice::gpt2

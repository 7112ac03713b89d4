#include "apps/gpt2/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "apps/gpt2/byte_pairs.hpp"
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

/// Merges over few letters, so that words are full of them.
Vocabulary random_vocabulary(std::mt19937& engine, std::size_t merges) {
    Vocabulary made;
    std::vector<TokenId> parts{'a', 'b', 'c'};
    while (made.merges.size() < merges) {
        std::uniform_int_distribution<std::size_t> any(0, parts.size() - 1);
        const Merge merge{parts[any(engine)], parts[any(engine)], static_cast<TokenId>(made.tokens.size())};
        const std::string result = made.tokens[merge.left] + made.tokens[merge.right];
        if (std::ranges::find(made.tokens, result) != made.tokens.end()) {
            continue;
        }
        made.tokens.push_back(result);
        made.merges.push_back(merge);
        parts.push_back(merge.result);
    }
    return made;
}

/// The published procedure: of all pairs the one whose merge comes first, everywhere from the left, until none is left.
std::vector<TokenId> plainly_encoded(const Vocabulary& vocabulary, const std::string& word) {
    std::vector<TokenId> tokens;
    for (const char c : word) {
        tokens.push_back(static_cast<unsigned char>(c));
    }
    for (;;) {
        const auto is_in_word = [&](const Merge& merge) {
            for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
                if (tokens[i] == merge.left && tokens[i + 1] == merge.right) {
                    return true;
                }
            }
            return false;
        };
        const auto best = std::ranges::find_if(vocabulary.merges, is_in_word);
        if (best == vocabulary.merges.end()) {
            return tokens;
        }
        std::vector<TokenId> merged;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const bool merges = i + 1 < tokens.size() && tokens[i] == best->left && tokens[i + 1] == best->right;
            merged.push_back(merges ? best->result : tokens[i]);
            i += merges ? 1U : 0U;
        }
        tokens = std::move(merged);
    }
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

TEST(BytePairs, TellTheFirstMergeOutOfOrder) {
    Vocabulary vocabulary;
    vocabulary.tokens.insert(vocabulary.tokens.end(), {"ab", "abc", "bc"});
    const Merge ab{'a', 'b', 256};
    const Merge abc{256, 'c', 257};
    const Merge other_abc{'a', 258, 257};
    const Merge bc{'b', 'c', 258};

    EXPECT_EQ(BytePairs::first_disorder(vocabulary.tokens, std::vector{ab, abc, bc}), 3U);
    EXPECT_EQ(BytePairs::first_disorder(vocabulary.tokens, std::vector{abc, ab}), 0U);
    EXPECT_EQ(BytePairs::first_disorder(vocabulary.tokens, std::vector{ab, bc, abc, other_abc}), 3U);
}

Words words_of(std::string_view text) {
    Words words;
    const auto take = [&](std::string_view word) { words.emplace_back(word); };
    WordSplitter().split(text, take);
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

class TokenizerFiles : public testing::Test {
protected:
    [[nodiscard]] Tokenizer read() {
        test::write_file(folder_.path() / "vocab.json", vocab_.dump());
        test::write_file(folder_.path() / "merges.txt", merges_);
        return Tokenizer::from_vocabulary(folder_.path() / "vocab.json", folder_.path() / "merges.txt");
    }

    [[nodiscard]] nlohmann::json tokenizer_json() const {
        return {{"model", {{"type", "BPE"}, {"vocab", vocab_}, {"merges", {"t h", "th e", "\u0120 the"}}}},
                {"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                {"added_tokens", {{{"id", 259}, {"content", "<|endoftext|>"}}}}};
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
    nlohmann::json json = tokenizer_json();
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
    merges_ = "#version: 0.2\nth e\nt h\n";
    EXPECT_EQ(refusal([&] { return read(); }),
              "E-TOK-057 line 2: joins what no merge before it makes, or makes what one has made");
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
        nlohmann::json json = tokenizer_json();
        change(json);
        return refusal([&] { return read_json(json); }).substr(0, 26);
    };
    EXPECT_EQ(with([](auto& j) { j["model"]["type"] = "Unigram"; }), "E-TOK-058 model.type is \"U");
    EXPECT_EQ(with([](auto& j) { j["normalizer"] = {{"type", "NFC"}}; }), "E-TOK-058 has a normalizer");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["type"] = "Split"; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["add_prefix_space"] = true; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["model"]["unk_token"] = "<unk>"; }), "E-TOK-058 model.unk_token ");
    EXPECT_EQ(with([](auto& j) { j["model"]["byte_fallback"] = true; }), "E-TOK-058 model.byte_fallb");
    EXPECT_EQ(with([](auto& j) { j["model"]["ignore_merges"] = true; }), "E-TOK-058 model.ignore_mer");
    EXPECT_EQ(with([](auto& j) {
                  j["post_processor"] = {{"type", "TemplateProcessing"}};
              }),
              "E-TOK-058 has a post_proce");
    EXPECT_EQ(with([](auto& j) { j["model"].erase("merges"); }), "E-TOK-058 model.merges or ");
    EXPECT_EQ(with([](auto& j) { j["added_tokens"][0]["special"] = false; }), "E-TOK-058 added_tokens has");
    EXPECT_EQ(with([](auto& j) { j["added_tokens"] = 5; }), "E-TOK-058 model.merges or ");
    EXPECT_EQ(with([](auto& j) { j["added_tokens"][0].erase("content"); }), "E-TOK-056 added_tokens hol");
    nlohmann::json deep = 1;
    for (int i = 0; i < 20; ++i) {
        deep = nlohmann::json::array({deep});
    }
    EXPECT_EQ(with([&](auto& j) { j["version"] = deep; }), "E-TOK-055 JSON that is nes");
}

}  // namespace
}  // namespace sluice::gpt2

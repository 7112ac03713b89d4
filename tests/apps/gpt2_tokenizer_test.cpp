#include "apps/gpt2/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

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

    TemporaryFolder folder_;
    nlohmann::json vocab_ = test::spelt_vocabulary();
    std::string merges_ = test::small_merges;
};

std::string decoded(const Tokenizer& tokenizer, TokenId token) {
    std::string bytes;
    tokenizer.decode(std::span(&token, 1), bytes);
    return bytes;
}

TEST_F(TokenizerFiles, EncodeAndDecode) {
    const Tokenizer tokenizer = read();
    std::vector<TokenId> ids;
    std::string text;

    tokenizer.encode("the theft", ids);
    tokenizer.decode(ids, text);

    EXPECT_EQ(ids, (std::vector<TokenId>{257, 258, 'f', 't'}));
    EXPECT_EQ(text, "the theft");
    EXPECT_EQ(tokenizer.size(), 260U);
    EXPECT_EQ(decoded(tokenizer, 259), "<|endoftext|>");
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
        EXPECT_EQ(decoded(tokenizer, 259), "<|endoftext|>");
    }
}

/// An editor's byte order mark and line ends, and a last line without one.
TEST_F(TokenizerFiles, MayHaveMergesThatAnEditorHasSaved) {
    merges_ = "\xEF\xBB\xBF#version: 0.2\r\nt h\r\nth e\r\n\u0120 the";
    std::vector<TokenId> ids;

    read().encode("the theft", ids);

    EXPECT_EQ(ids, (std::vector<TokenId>{257, 258, 'f', 't'}));
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

/// Each puts its tokens before what those before it have made.
TEST_F(TokenizerFiles, BeginTextsWithTheLastProcessorsTokensFirst) {
    nlohmann::json json = test::llama_tokenizer_json();
    auto& processors = json["post_processor"]["processors"];
    processors.push_back(processors[1]);
    processors[2]["special_tokens"]["B"]["ids"] = {257, 256};

    const Tokenizer tokenizer = read_json(json);

    EXPECT_EQ(std::vector(tokenizer.beginning().begin(), tokenizer.beginning().end()),
              (std::vector<TokenId>{257, 256, 258}));
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
        return test::bad_data_of([&] { return read(); });
    };
    EXPECT_EQ(with([](auto& v) { v["the"] = 4294967296U; }),
              "E-TOK-056 token 'the' has id 4294967296, expected 0 to 259");
    EXPECT_EQ(with([](auto& v) { v["the"] = -1; }), "E-TOK-056 token 'the' has id -1, expected 0 to 259");
    EXPECT_EQ(with([](auto& v) { v["the"] = 1.5; }), "E-TOK-056 token 'the' has id 1.5, expected 0 to 259");
    EXPECT_EQ(with([](auto& v) { v["the"] = 256; }), "E-TOK-056 two tokens have id 256; one is 'the'");
    EXPECT_EQ(with([](auto& v) { v["x y"] = 260; }), "E-TOK-056 token 'x y' has a character that spells no byte");
    EXPECT_EQ(with([](auto& v) { v[""] = 260; }), "E-TOK-056 token '' is empty");
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
    EXPECT_EQ(test::bad_data_of([&] { return read(); }), "E-TOK-057 line 4: joins what a merge before it joins");
    for (const char* const wrong : {"", "t h e", " h", "t "}) {
        merges_ = std::string("t h\n") + wrong + "\nth e\n";
        EXPECT_EQ(test::bad_data_of([&] { return read(); }),
                  "E-TOK-057 line 2: got '" + std::string(wrong) + "', expected two tokens and a space between them");
    }
    merges_ = "t h\n#version: 0.2\n";  // of the first line alone
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-TOK-057 no token '#version:', which line 2 of the merges needs");
    merges_ = "t h\nth\n";
    EXPECT_EQ(test::bad_data_of([&] { return read(); }),
              "E-TOK-057 line 2: got 'th', expected two tokens and a space between them");
    merges_.clear();  // as a failed download leaves it: all texts would become single bytes
    EXPECT_EQ(test::bad_data_of([&] { return read(); }), "E-TOK-055 is empty");
    test::write_file(folder_.path() / "merges.txt", test::small_merges);
    test::write_file(folder_.path() / "vocab.json", R"({"a": 1,)");
    EXPECT_EQ(test::bad_data_of([&] {
                  return Tokenizer::from_vocabulary(folder_.path() / "vocab.json", folder_.path() / "merges.txt");
              }).substr(0, 22),
              "E-TOK-055 no JSON from");
    test::write_file(folder_.path() / "vocab.json", vocab_.dump().insert(1, R"("th": 256, )"));
    const Error twice = test::error_of(
        [&] { return Tokenizer::from_vocabulary(folder_.path() / "vocab.json", folder_.path() / "merges.txt"); });
    EXPECT_EQ(twice.text().id, "E-TOK-055");
    EXPECT_EQ(twice.text().where, folder_.path() / "vocab.json");
    EXPECT_EQ(twice.text().what, "has the key 'th' twice");
}

TEST_F(TokenizerFiles, OfAnotherKindAreRefused) {
    const auto with = [&](auto change) {
        nlohmann::json json = test::tokenizer_json();
        change(json);
        return test::bad_data_of([&] { return read_json(json); }).substr(0, 26);
    };
    EXPECT_EQ(with([](auto& j) { j["model"]["type"] = "Unigram"; }), "E-TOK-058 model.type is \"U");
    EXPECT_EQ(with([](auto& j) { j["normalizer"] = {{"type", "NFKC"}}; }), "E-TOK-058 normalizer is \"N");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["type"] = "Split"; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["add_prefix_space"] = true; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["pre_tokenizer"]["use_regex"] = false; }), "E-TOK-058 pre_tokenizer is");
    EXPECT_EQ(with([](auto& j) { j["model"]["unk_token"] = "<unk>"; }), "E-TOK-058 model.unk_token ");
    EXPECT_EQ(with([](auto& j) { j["model"]["continuing_subword_prefix"] = ""; }), "none");
    EXPECT_EQ(with([](auto& j) { j["model"]["merges"] = {{"t", "h", "e"}}; }), "E-TOK-057 model.merges[0]:");
    EXPECT_EQ(with([](auto& j) {
                  j["post_processor"] = {{"type", "Sequence"}, {"processors", {{{"type", "Sequence"}}}}};
              }),
              "E-TOK-058 post_processor h");
    EXPECT_EQ(with([](auto& j) {
                  j["added_tokens"].push_back({{"id", 260}, {"content", "the"}});
              }),
              "E-TOK-056 token 'the' has ");
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
        return test::bad_data_of([&] { return read_json(json); }).substr(0, 26);
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
    EXPECT_EQ(test::bad_data_of([&] { return read_json(qwen); }).substr(0, 26), "E-TOK-058 added_tokens has");
    qwen["normalizer"] = nullptr;
    EXPECT_EQ(test::bad_data_of([&] { return read_json(qwen); }), "none");
    qwen["added_tokens"].push_back({{"id", 261}, {"content", "<x>"}, {"special", false}, {"normalized", false}});
    EXPECT_EQ(test::bad_data_of([&] { return read_json(qwen); }).substr(0, 26), "E-TOK-058 added_tokens tha");
    nlohmann::json deep = 1;
    for (int i = 0; i < 20; ++i) {
        deep = nlohmann::json::array({deep});
    }
    EXPECT_EQ(with([&](auto& j) { j["version"] = deep; }), "E-TOK-055 JSON that is nes");
}

}  // namespace
}  // namespace sluice::gpt2

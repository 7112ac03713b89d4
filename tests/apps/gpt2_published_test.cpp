// The tokenizer with GPT-2's own vocabulary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "apps/gpt2/tokenizer.hpp"

namespace sluice::gpt2 {
namespace {

/// The published vocabulary, where somebody has it.
class PublishedTokenizer : public testing::Test {
protected:
    void SetUp() override {
        const char* folder = std::getenv("SLUICE_GPT2_FILES");
        if (folder == nullptr) {
            GTEST_SKIP() << "set SLUICE_GPT2_FILES to a folder with GPT-2's vocab.json as gpt2_vocab.json and its "
                            "merges.txt as gpt2_merges.txt, which are not in this project";
        }
        const std::filesystem::path path = folder;
        tokenizer_.emplace(Tokenizer::from_vocabulary(path / "gpt2_vocab.json", path / "gpt2_merges.txt"));
    }

    [[nodiscard]] std::vector<TokenId> encoded(std::string_view text) const {
        std::vector<TokenId> ids;
        tokenizer_->encode(text, ids);
        return ids;
    }

    std::optional<Tokenizer> tokenizer_;
};

struct PublishedText {
    const char* text;
    std::vector<TokenId> ids;  // as tiktoken's encode_ordinary() gives them
};

TEST_F(PublishedTokenizer, GivesThePublishedIds) {
    const std::vector<PublishedText> texts{
        {"Hello world", {15496, 995}},
        {" Hello  world\n\n\tand  more ", {18435, 220, 995, 628, 197, 392, 220, 517, 220}},
        {"I'll we've they'RE don't 'sx", {40, 1183, 356, 1053, 484, 6, 2200, 836, 470, 705, 82, 87}},
        {"3.14159 = π², ½ Ⅳ 漢字かな交じり文",
         {18,  13, 1415,  19707, 796,   18074, 222,   31185, 11,   25208, 2343,  227,   96, 10545,
          120, 95, 27764, 245,   27370, 26945, 12859, 97,    2515, 246,   28255, 23877, 229}},
        {"naïve café — “quotes” … 🤖🤖🏽",
         {2616, 38776, 40304, 851, 564, 250, 421, 6421, 447, 251, 3926, 12520, 97, 244, 8582, 97, 244, 8582, 237, 121}},
        {"<|endoftext|>", {27, 91, 437, 1659, 5239, 91, 29}},
        {"\u00a0\u2003x\u180ey\u0085z\u200b", {1849, 447, 225, 87, 157, 254, 236, 88, 126, 227, 89, 9525}},
        {"SolidGoldMagikarp and petertodd", {46933, 42202, 290, 37444}},
        {"if (x == 0) {\n        return -1;\n}\n",
         {361, 357, 87, 6624, 657, 8, 1391, 198, 220, 220, 220, 220, 220, 220, 220, 1441, 532, 16, 26, 198, 92, 198}},
        {"antidisestablishmentarianism", {415, 29207, 44390, 3699, 1042}},
        {"Привет, мир! مرحبا नमस्ते",
         {140, 253,   21169, 18849, 38857, 16843, 20375, 11,    12466, 120,   18849, 21169, 0,  47048, 26897, 148,
          255, 39848, 12919, 28225, 101,   11976, 106,   11976, 116,   24231, 235,   11976, 97, 24231, 229}},
    };
    for (const PublishedText& text : texts) {
        EXPECT_EQ(encoded(text.text), text.ids) << text.text;
    }
    std::vector<TokenId> of_letters(18, 24794);
    of_letters.push_back('a' - '!');
    EXPECT_EQ(encoded(std::string(73, 'a')), of_letters);
}

TEST_F(PublishedTokenizer, GivesBackAnyBytes) {
    std::mt19937 engine(3);
    for (int i = 0; i < 2000; ++i) {
        std::string bytes(engine() % 80, '\0');
        std::ranges::generate(bytes, [&] { return static_cast<char>(engine() % (i % 2 == 0 ? 256 : 128)); });
        std::string back;
        tokenizer_->decode(encoded(bytes), back);
        ASSERT_EQ(back, bytes);
    }
}

}  // namespace
}  // namespace sluice::gpt2

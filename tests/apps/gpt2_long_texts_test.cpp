// Texts that would take a tokenizer too much stack.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/tokenizer.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::size_t megabyte = 1'000'000;

void run_on_a_small_stack(std::function<void()> action) {
    constexpr std::size_t bytes = std::size_t{64} << 10U;
    pthread_attr_t attributes{};
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    pthread_t thread{};
    const auto start = [](void* given) -> void* {
        (*static_cast<std::function<void()>*>(given))();
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, start, &action), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
}

/// Of the three word patterns.
std::vector<nlohmann::json> tokenizers() {
    std::vector<nlohmann::json> all{test::tokenizer_json(), test::llama_tokenizer_json(), test::qwen_tokenizer_json()};
    for (nlohmann::json& json : all) {
        json["added_tokens"] = nlohmann::json::array();
        TokenId next = 260;
        for (const std::string run : {"A", "\u0120"}) {  // of 2, 4, …, 64 letters or blanks
            std::string part = run;
            for (int i = 0; i < 6; ++i) {
                json["model"]["merges"].push_back(part + " " + part);
                part += part;
                json["model"]["vocab"][part] = next++;
            }
        }
    }
    return all;
}

std::string of_all_categories() {
    std::mt19937 engine(std::random_device{}());
    constexpr std::array<std::string_view, 16> pieces{"A",  "the", "'ll", "'", "7", "²",      "é",      "漢",
                                                      "\n", "\r",  "\t",  " ", "!", "\u00a0", "\u3000", "\xff"};
    std::string text;
    while (text.size() < megabyte) {
        text += pieces[engine() % pieces.size()];
    }
    return text;
}

TEST(LongText, OfAnyCharactersIsEncodedOnASmallStack) {
    const std::array<std::string, 8> texts{std::string(megabyte, 'A'),       std::string(megabyte, ' '),
                                           std::string(megabyte, ' ') + "x", std::string(megabyte, '\n') + " ",
                                           std::string(megabyte, '7'),       std::string(megabyte, '!'),
                                           std::string(megabyte, '\xff'),    of_all_categories()};
    const TemporaryFolder folder;
    for (const nlohmann::json& json : tokenizers()) {
        test::write_file(folder.path() / "tokenizer.json", json.dump());
        const Tokenizer tokenizer = Tokenizer::from_json(folder.path() / "tokenizer.json");
        std::array<std::vector<TokenId>, texts.size()> tokens;

        run_on_a_small_stack([&] {
            for (std::size_t i = 0; i < texts.size(); ++i) {
                tokenizer.encode(texts[i], tokens[i]);
            }
        });

        for (std::size_t i = 0; i < texts.size(); ++i) {
            std::string back;
            tokenizer.decode(tokens[i], back);
            EXPECT_TRUE(back == texts[i]) << i;
        }
        EXPECT_EQ(tokens[0].size(), megabyte / 64);
        EXPECT_EQ(tokens[1].size(), megabyte / 64);
    }
}

}  // namespace
}  // namespace sluice::gpt2

#include "apps/gpt2/byte_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::gpt2 {
namespace {

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

TEST(BytePairs, LookAtThreePairsAByteOfALongWordAtMost) {
    std::mt19937 engine(std::random_device{}());
    Vocabulary runs;
    for (TokenId part = 'A', i = 0; i < 6; ++i) {  // AA, AAAA, … of 64 letters
        const auto result = static_cast<TokenId>(runs.tokens.size());
        runs.tokens.push_back(runs.tokens[part] + runs.tokens[part]);
        runs.merges.push_back({part, part, result});
        part = result;
    }
    std::string letters(1'000'000, 'a');
    std::ranges::generate(letters, [&] { return static_cast<char>('a' + engine() % 3); });
    const auto looks = [](const Vocabulary& vocabulary, std::string_view word) {
        std::vector<TokenId> tokens;
        return BytePairs(vocabulary.tokens, vocabulary.merges).encode(word, tokens);
    };

    EXPECT_LE(looks(runs, std::string(1'000'000, 'A')), 3'000'000U);
    EXPECT_LE(looks(random_vocabulary(engine, 100), letters), 3'000'000U);
    EXPECT_LE(looks(random_vocabulary(engine, 100), letters.substr(0, 49)), 3 * 49U);
    EXPECT_LE(looks(random_vocabulary(engine, 100), letters.substr(0, 48)), 24 * 48U);
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

std::size_t pieces_of(const BytePairs& pairs, const std::string& word) {
    std::vector<TokenId> tokens;
    pairs.encode(word, tokens);
    return tokens.size();
}

/// They are found by their first eight bytes and their length, in a table in which many words meet.
TEST(BytePairs, MakeNoOtherWordATokenThatBeginsLikeIt) {
    Vocabulary vocabulary;
    const auto word_of = [](int number) { return "beginning" + std::to_string(number); };
    for (int i = 100; i < 300; ++i) {
        vocabulary.tokens.push_back(word_of(i));
    }

    const BytePairs pairs(vocabulary.tokens, {}, {}, BytePairs::Words::whole);

    for (int i = 100; i < 300; ++i) {
        EXPECT_EQ(pieces_of(pairs, word_of(i)), 1U) << i;
        EXPECT_EQ(pieces_of(pairs, word_of(i + 200)), word_of(i + 200).size()) << i;
    }
}

TEST(BytePairs, MakeNoTokenOfAWordWithZerosBehindIt) {
    for (char first = 'A'; first <= 'z'; ++first) {
        Vocabulary vocabulary;
        for (int second = 1; second < 256; ++second) {
            vocabulary.tokens.push_back({first, static_cast<char>(second)});
        }

        const BytePairs pairs(vocabulary.tokens, {}, {}, BytePairs::Words::whole);

        for (int second = 1; second < 256; ++second) {
            for (std::size_t zeros = 1; zeros <= 6; ++zeros) {
                const std::string word = std::string{first, static_cast<char>(second)} + std::string(zeros, '\0');
                ASSERT_EQ(pieces_of(pairs, word), word.size()) << first << second << ' ' << zeros;
            }
        }
    }
}

}  // namespace
}  // namespace sluice::gpt2

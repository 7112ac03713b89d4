#include "apps/certified_texts.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

ChoiceDoubt at_distance(float distance, std::uint32_t kept = 0) {
    return {.doubt = {.distance = distance}, .kept = kept};
}

constexpr std::uint32_t max_new = 4;
const DecoderTexts continuations{.sampling = {.max_prompt = 2, .max_new = max_new}};

/// Texts as a decoder writes them; what is behind their ends is open.
class Continuations {
public:
    void add(const std::vector<std::uint32_t>& tokens, bool has_end, const std::vector<ChoiceDoubt>& choices) {
        const std::size_t bytes = continuations.io().output_bytes;
        const std::size_t at = written_.results.size();
        written_.results.resize(at + bytes, std::byte{0xEE});
        const ContinuationStart start{.tokens = static_cast<std::uint32_t>(tokens.size()),
                                      .has_end = has_end ? 1U : 0U};
        std::memcpy(&written_.results[at], &start, sizeof start);
        if (!tokens.empty()) {
            std::memcpy(&written_.results[at + sizeof start], tokens.data(), tokens.size() * sizeof(std::uint32_t));
        }
        std::vector<ChoiceDoubt> all(choices);
        all.resize(max_new, at_distance(-77, 99));
        written_.choices.insert(written_.choices.end(), all.begin(), all.end());
    }
    [[nodiscard]] const WrittenTexts& written() const { return written_; }

private:
    WrittenTexts written_;
};

SeenTexts compare(const Continuations& fast, const Continuations& exact) {
    return compare_texts(fast.written(), exact.written(), continuations);
}

TEST(CertifiedTexts, LearnFromEveryChoiceThatIsAlike) {
    Continuations fast;
    Continuations exact;
    fast.add({5, 6}, true, {at_distance(1), at_distance(2), at_distance(3)});
    exact.add({5, 6}, true, {at_distance(4), at_distance(5), at_distance(6)});
    fast.add({1, 2, 3, 4}, false, {at_distance(7), at_distance(7), at_distance(7), at_distance(8)});
    exact.add({1, 2, 3, 4}, false, {at_distance(7), at_distance(7), at_distance(7), at_distance(9)});

    const SeenTexts seen = compare(fast, exact);

    ASSERT_EQ(seen.alike.size(), 7U);
    EXPECT_EQ(seen.alike[2].fast.distance, 3);
    EXPECT_EQ(seen.alike[2].exact.distance, 6);
    EXPECT_EQ(seen.alike[6].fast.distance, 8);
    EXPECT_EQ(seen.alike[6].exact.distance, 9);
    EXPECT_TRUE(seen.differing.empty());
}

TEST(CertifiedTexts, LearnNothingFromAChoiceAmongOtherTokens) {
    Continuations fast;
    Continuations exact;
    fast.add({5, 6}, true, {at_distance(1, 10), at_distance(2, 11), at_distance(3, 12)});
    exact.add({5, 6}, true, {at_distance(4, 10), at_distance(5, 77), at_distance(6, 12)});

    const SeenTexts seen = compare(fast, exact);

    ASSERT_EQ(seen.alike.size(), 2U);
    EXPECT_EQ(seen.alike[0].fast.distance, 1);
    EXPECT_EQ(seen.alike[1].fast.distance, 3);
    EXPECT_TRUE(seen.differing.empty());
}

/// Behind the first other token nothing is comparable; as a text it came as close as its closest choice.
TEST(CertifiedTexts, TellWhichTextsDifferAndHowCloseTheyCame) {
    Continuations fast;
    Continuations exact;
    fast.add({5, 6, 7, 8}, false, {at_distance(4), at_distance(3), at_distance(1), at_distance(2)});
    exact.add({5, 9, 7, 8}, false, {at_distance(4), at_distance(3), at_distance(9), at_distance(9)});
    fast.add({5}, true, {at_distance(6), at_distance(5)});  // ends where the other one continues
    exact.add({5, 1, 1, 1}, false, {at_distance(7), at_distance(5), at_distance(5), at_distance(5)});

    const SeenTexts seen = compare(fast, exact);

    ASSERT_EQ(seen.alike.size(), 2U);
    EXPECT_EQ(seen.alike[1].exact.distance, 7);
    ASSERT_EQ(seen.differing.size(), 2U);
    EXPECT_EQ(seen.differing[0].distance, 1);
    EXPECT_EQ(seen.differing[1].distance, 5);
}

TEST(CertifiedTexts, CompareNamesWithoutTheirLogProbabilities) {
    constexpr GeneratorTexts names{.max_length = 4};
    const auto written = [&](std::string_view bytes, float log_probability, float distance) {
        WrittenTexts texts{.results = std::vector<std::byte>(names.io().output_bytes),
                           .doubts = {{.distance = distance}},
                           .choices = {}};
        const TextEnd end{.length = static_cast<std::int32_t>(bytes.size()), .log_probability = log_probability};
        std::memcpy(texts.results.data(), &end, sizeof end);
        std::memcpy(&texts.results[sizeof end], bytes.data(), bytes.size());
        return texts;
    };

    const SeenTexts same = compare_texts(written("Ada", -3, 1), written("Ada", -4, 2), names);
    const SeenTexts other = compare_texts(written("Ada", -3, 1), written("Ida", -3, 2), names);

    ASSERT_EQ(same.alike.size(), 1U);
    EXPECT_EQ(same.alike[0].exact.distance, 2);
    EXPECT_TRUE(same.differing.empty());
    EXPECT_TRUE(other.alike.empty());
    ASSERT_EQ(other.differing.size(), 1U);
    EXPECT_EQ(other.differing[0].distance, 1);
}

}  // namespace
}  // namespace sluice

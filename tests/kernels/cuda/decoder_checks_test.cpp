#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/kernels/cuda/decoder_drafts.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/decoder_texts.hpp"

namespace sluice {
namespace {

using test::four_gib;
using test::RandomDecoder;
using Drafts = test::DecoderDrafts;

constexpr std::uint32_t most_checked = 16;  // as TextChecker's "too many"

class DecoderChecksOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped()) {
            device_ = make_cuda_device(0);
        }
    }
    [[nodiscard]] Device& device() const { return *device_; }

private:
    std::unique_ptr<Device> device_;
};

constexpr DecoderShape checked_shape{
    .vocabulary = 300, .positions = 90, .width = 128, .layers = 3, .heads = 2, .inner = 264};

const TokenSampling checked_rules[] = {
    {.temperature = 0, .end = 42},
    {.repetition_penalty = 1.4F, .temperature = 0},
    {.seed = 3},
    {.temperature = 0.9F, .top_k = 12, .seed = 9},
    {.repetition_penalty = 1.2F,
     .temperature = 0.9F,
     .top_k = 30,
     .top_p = 0.9F,
     .end = EndTokens(std::array{295U, 181U}),
     .seed = 5},
};

bool is_doubtful(const TextDoubt& doubt, const TextDoubt& bounds) {
    return !(doubt.distance >= bounds.distance && doubt.gap >= bounds.gap);
}

/// The bounds below which a share of the drafts' choices lies.
TextDoubt bounds_for(Drafts& drafts, double share) {
    std::vector<float> distances;
    std::vector<float> gaps;
    for (std::uint32_t item = 0; item < drafts.items(); ++item) {
        for (std::uint32_t i = 0; i < drafts.choices(item); ++i) {
            distances.push_back(drafts.choice(item, i).doubt.distance);
            gaps.push_back(drafts.choice(item, i).doubt.gap);
        }
    }
    const auto quantile = [&](std::vector<float>& of) {
        const auto at = of.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(of.size() - 1));
        std::ranges::nth_element(of, at);
        return std::isfinite(*at) ? *at : 0;
    };
    return {.distance = quantile(distances), .gap = quantile(gaps)};
}

/// In fp32 a row's bits do not depend on what stands beside it, so that a check finds each doubtful choice as it was,
/// and as close to another: with little memory, which takes many passes, and with plenty.
TEST_F(DecoderChecksOnGpu, MakeEachDoubtfulChoiceAgain) {
    for (TokenSampling sampling : checked_rules) {
        sampling.max_prompt = 50;
        sampling.max_new = 40;
        const bool greedy = sampling.temperature == 0;
        const RandomDecoder model(greedy ? test::with_prefix(checked_shape) : checked_shape, 7);
        for (const std::uint64_t more_bytes : {std::uint64_t{0}, four_gib}) {
            SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature << ", top_k " << sampling.top_k
                                            << ", " << more_bytes << " bytes more");
            Drafts drafts(device(), Precision::fp32, model, sampling, 203, more_bytes);
            const TextCounts counts = drafts.counts();
            EXPECT_TRUE(sampling.end == EndTokens() || counts.ended > drafts.items() / 8) << counts.ended;
            const TextDoubt bounds = bounds_for(drafts, 0.1);

            const std::vector<TextDoubt> got = drafts.check(bounds);

            std::uint32_t checked = 0;
            std::uint32_t hopeless = 0;
            for (std::uint32_t item = 0; item < drafts.items(); ++item) {
                TextDoubt expected;
                std::uint32_t doubtful = 0;
                for (std::uint32_t i = 0; i < drafts.choices(item); ++i) {
                    const TextDoubt& doubt = drafts.choice(item, i).doubt;
                    if (is_doubtful(doubt, bounds)) {
                        expected = least(expected, doubt);
                        ++doubtful;
                    }
                }
                hopeless += doubtful > most_checked ? 1 : 0;
                checked += doubtful > 0 && doubtful <= most_checked ? 1 : 0;
                if (doubtful > most_checked) {
                    expected = {.distance = -1, .gap = -1};
                }
                ASSERT_EQ(got[item], expected) << item << ": " << got[item].distance << " " << got[item].gap << ", not "
                                               << expected.distance << " " << expected.gap;
            }
            for (std::uint32_t item = 0; item < drafts.items(); ++item) {
                EXPECT_TRUE(std::ranges::equal(drafts.checked_text(item), drafts.draft(item))) << item;
            }
            EXPECT_GT(checked, drafts.items() / 4);
            EXPECT_EQ(drafts.checked(), checked);
            EXPECT_EQ(drafts.corrected(), 0U);
            EXPECT_LT(hopeless, drafts.items() / 4);
            EXPECT_EQ(drafts.counts().texts, counts.texts);
            EXPECT_EQ(drafts.counts().new_tokens, counts.new_tokens);
        }
    }
}

/// Makes another draft of a text, from its `at`-th choice on, which may be its end: other tokens up to the longest
/// length, or an end before it.
void change_from(Drafts& drafts, std::uint32_t item, std::uint32_t at, bool ends, const TokenSampling& sampling,
                 std::mt19937& engine) {
    constexpr std::uint32_t never_ends = 40;  // checked_rules end by greater ones
    ContinuationStart start = drafts.start(item);
    const std::uint32_t tokens = ends ? at : sampling.max_new;
    for (std::uint32_t i = at; i < sampling.max_new; ++i) {
        const auto other = static_cast<std::uint32_t>(engine() % never_ends);
        const bool is_the_same = i == at && i < start.tokens && other == drafts.token(item, i);
        drafts.set_token(item, i, i >= tokens ? 0 : is_the_same ? other + 1 : other);
        if (sampling.log_probabilities) {
            drafts.set_token(item, sampling.max_new + i, i >= tokens ? 0 : 0x3F800000);
        }
    }
    start.tokens = tokens;
    start.has_end = ends ? 1 : 0;
    drafts.set_start(item, start);
}

/// What checks make of drafts that were spoiled.
struct Mended {
    std::vector<TextDoubt> doubts;
    std::uint32_t corrected = 0;
    TextCounts counts;  ///< The decoder's.
};

/// Makes a choice of each draft doubtful, and spoils three of four from there on; others before and behind it are
/// doubtful, too, but no more than are checked.
Mended spoil(Drafts& drafts, const TokenSampling& sampling, std::mt19937& engine) {
    constexpr float certain = 1000;
    Mended mended{.doubts = std::vector<TextDoubt>(drafts.items()), .counts = drafts.counts()};
    for (std::uint32_t item = 0; item < drafts.items(); ++item) {
        const std::uint32_t choices = drafts.choices(item);
        const auto at = static_cast<std::uint32_t>(engine() % choices);
        const ContinuationStart text = drafts.start(item);
        const bool is_other = item % 4 != 0;
        const bool ends = item % 4 == 1 && at < text.tokens;
        std::uint32_t others = 0;
        for (std::uint32_t i = 0; i < sampling.max_new; ++i) {
            TextDoubt& doubt = drafts.choice(item, i).doubt;
            const bool too = i != at && engine() % 5 == 0 && (i < at || is_other) && others + 1 < most_checked;
            others += too ? 1 : 0;
            if (i < at ? too : i < choices && (i == at || is_other)) {
                mended.doubts[item] = least(mended.doubts[item], doubt);
            }
            doubt = {.distance = certain, .gap = i == at || too ? 0 : certain};
        }
        if (is_other) {
            change_from(drafts, item, at, ends, sampling, engine);
            const ContinuationStart draft = drafts.start(item);
            ++mended.corrected;
            mended.counts.new_tokens += std::uint64_t{text.tokens} - draft.tokens;
            mended.counts.ended += std::uint64_t{text.has_end} - draft.has_end;
        }
    }
    return mended;
}

/// A draft that is wrong from some doubtful choice on becomes the text that the decoder writes by itself, bit for bit:
/// with tokens behind it, an end too many or none. Doubtful choices before it count, those behind it are made anew.
TEST_F(DecoderChecksOnGpu, ContinueFromTheFirstOtherChoice) {
    std::mt19937 engine(6);
    for (TokenSampling sampling : checked_rules) {
        sampling.max_prompt = 50;
        sampling.log_probabilities = sampling.repetition_penalty != 1;
        const bool greedy = sampling.temperature == 0;
        const RandomDecoder model(greedy ? test::with_prefix(checked_shape) : checked_shape, 7);
        for (const auto& [max_new, more_bytes] :
             {std::pair{40U, std::uint64_t{0}}, {40U, four_gib}, {2U, four_gib}, {1U, std::uint64_t{0}}}) {
            SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature << ", top_k " << sampling.top_k
                                            << ", " << max_new << " tokens, " << more_bytes << " bytes more");
            sampling.max_new = max_new;
            Drafts drafts(device(), Precision::fp32, model, sampling, 203, more_bytes);
            const std::vector<std::byte> texts = drafts.all();
            const std::size_t bytes = texts.size() / drafts.items();
            const Mended expected = spoil(drafts, sampling, engine);

            const std::vector<TextDoubt> got = drafts.check({.distance = 0, .gap = 1});

            for (std::uint32_t item = 0; item < drafts.items(); ++item) {
                ASSERT_TRUE(
                    std::ranges::equal(drafts.checked_text(item), std::span(texts).subspan(item * bytes, bytes)))
                    << item;
                ASSERT_EQ(got[item], expected.doubts[item])
                    << item << ": " << got[item].distance << " " << got[item].gap;
            }
            EXPECT_EQ(drafts.checked(), drafts.items());
            EXPECT_EQ(drafts.corrected(), expected.corrected);
            EXPECT_EQ(drafts.counts().texts, expected.counts.texts);
            EXPECT_EQ(drafts.counts().prompt_tokens, expected.counts.prompt_tokens);
            EXPECT_EQ(drafts.counts().new_tokens, expected.counts.new_tokens);
            EXPECT_EQ(drafts.counts().ended, expected.counts.ended);
            EXPECT_EQ(drafts.write(), texts);  // no slot and no page is lost
            EXPECT_EQ(drafts.check({.distance = 0, .gap = 1}), got);
        }
    }
}

/// As certain as without: `certified` checks the same choices.
TEST_F(DecoderChecksOnGpu, AreOfTheSameChoicesWithLogProbabilities) {
    const RandomDecoder model(checked_shape, 8);
    for (const Precision precision : every_decoder_precision) {
        if (has_parts(precision) && gpu().instructions() != MatrixInstructions::wgmma) {
            continue;
        }
        for (const float temperature : {0.0F, 0.7F, 1.0F}) {
            SCOPED_TRACE(testing::Message() << name_of(precision) << ", temperature " << temperature);
            TokenSampling sampling{.max_prompt = 21, .max_new = 12, .temperature = temperature, .end = 42, .seed = 3};
            Drafts without(device(), precision, model, sampling, 200);
            sampling.log_probabilities = true;
            Drafts with(device(), precision, model, sampling, 200);

            for (std::uint32_t item = 0; item < with.items(); ++item) {
                ASSERT_EQ(with.choices(item), without.choices(item)) << item;
                for (std::uint32_t i = 0; i < with.choices(item); ++i) {
                    ASSERT_EQ(with.choice(item, i).doubt, without.choice(item, i).doubt) << item << ", " << i;
                    ASSERT_EQ(with.choice(item, i).kept, without.choice(item, i).kept) << item << ", " << i;
                }
                const std::size_t tokens = sizeof(ContinuationStart) + sampling.max_new * sizeof(std::uint32_t);
                ASSERT_TRUE(std::ranges::equal(with.draft(item).first(tokens), without.draft(item).first(tokens)))
                    << item;
            }
        }
    }
}

/// Only where the choice is doubtful: the others are the draft's word.
TEST_F(DecoderChecksOnGpu, CorrectTheTokenThatDiffersInEveryPrecision) {
    const RandomDecoder model(checked_shape, 8);
    std::mt19937 engine(4);
    for (const Precision precision : every_decoder_precision) {
        if (has_parts(precision) && gpu().instructions() != MatrixInstructions::wgmma) {
            continue;
        }
        for (const bool log_probabilities : {false, true}) {
            SCOPED_TRACE(testing::Message() << name_of(precision) << ", log-probabilities: " << log_probabilities);
            const TokenSampling sampling{
                .max_prompt = 21, .max_new = 12, .temperature = 0, .log_probabilities = log_probabilities};
            Drafts drafts(device(), precision, model, sampling, 500);
            EXPECT_GT(drafts.counts().shared, 0U);
            const std::vector<std::byte> texts = drafts.all();
            const std::size_t bytes = texts.size() / drafts.items();
            const std::size_t of_tokens = sizeof(ContinuationStart) + sampling.max_new * sizeof(std::uint32_t);
            constexpr float certain = 100;
            std::vector<std::uint32_t> changed(drafts.items(), sampling.max_new);
            for (std::uint32_t item = 0; item < drafts.items(); ++item) {
                const auto doubtful = static_cast<std::uint32_t>(engine() % sampling.max_new);
                const auto at = static_cast<std::uint32_t>(engine() % sampling.max_new);
                for (std::uint32_t i = 0; i < sampling.max_new; ++i) {
                    drafts.choice(item, i).doubt.gap = i == doubtful ? 0 : certain;
                }
                // Of every third item nothing, of the others the doubtful token or one behind it.
                if (item % 3 != 0) {
                    const std::uint32_t token = item % 3 == 1 ? doubtful : std::max(at, doubtful);
                    drafts.change_token(item, token);
                    changed[item] = token == doubtful ? token : sampling.max_new;
                }
            }

            const std::vector<TextDoubt> got = drafts.check({.distance = 0, .gap = 1});

            std::uint32_t wrong = 0;
            std::uint32_t right = 0;
            std::uint32_t missed = 0;
            for (std::uint32_t item = 0; item < drafts.items(); ++item) {
                if (changed[item] != sampling.max_new) {
                    const std::span<const std::byte> checked = drafts.checked_text(item);
                    const std::size_t token = sizeof(ContinuationStart) + changed[item] * sizeof(std::uint32_t);
                    ++wrong;
                    right +=
                        std::ranges::equal(checked.first(of_tokens), std::span(texts).subspan(item * bytes, of_tokens))
                            ? 1
                            : 0;
                    missed +=
                        std::memcmp(&checked[token], &drafts.draft(item)[token], sizeof(std::uint32_t)) == 0 ? 1 : 0;
                } else if (precision == Precision::fp32) {
                    EXPECT_GE(got[item].gap, 0) << item;
                    EXPECT_NE(got[item].gap, TextDoubt::none) << item;
                    EXPECT_TRUE(std::ranges::equal(drafts.checked_text(item), drafts.draft(item))) << item;
                }
            }
            EXPECT_GT(wrong, drafts.items() / 3);
            EXPECT_EQ(missed, 0U);
            EXPECT_GE(right, wrong - (precision == Precision::fp32 ? 0 : wrong / 10))
                << wrong;  // others had a close choice
            EXPECT_GE(drafts.corrected(), wrong);
        }
    }
}

TEST_F(DecoderChecksOnGpu, RefuteDraftsThatAreNotFinite) {
    const TokenSampling sampling{.max_prompt = 9, .max_new = 10, .temperature = 0, .end = 299};
    constexpr TextDoubt every{.distance = 0, .gap = std::numeric_limits<float>::infinity()};
    constexpr TextDoubt refuted{.distance = -1, .gap = -1};
    {
        const RandomDecoder model(checked_shape, 9);
        Drafts drafts(device(), Precision::fp32, model, sampling, 40);
        const std::vector<TextDoubt> before = drafts.check(every);
        ASSERT_GT(before[1].gap, 0);
        ContinuationStart nonfinite = drafts.start(1);
        nonfinite.nonfinite = 1;
        drafts.set_start(1, nonfinite);

        const std::vector<TextDoubt> got = drafts.check(every);

        for (std::uint32_t item = 0; item < drafts.items(); ++item) {
            EXPECT_EQ(got[item], item == 1 ? refuted : before[item]) << item;
        }
    }
    RandomDecoder model(checked_shape, 9);
    model.set_inner_bias(3, std::numeric_limits<float>::quiet_NaN());
    Drafts drafts(device(), Precision::fp32, model, sampling, 40);
    for (std::uint32_t item = 0; item < drafts.items(); ++item) {
        ContinuationStart start = drafts.start(item);
        ASSERT_EQ(start.nonfinite, 1U);
        start.nonfinite = 0;  // the check has to see it
        drafts.set_start(item, start);
    }

    EXPECT_EQ(drafts.check(every), std::vector(drafts.items(), refuted));

    EXPECT_EQ(drafts.corrected(), 0U);
}

}  // namespace
}  // namespace sluice

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/sizes.hpp"
#include "tests/kernels/cuda/decoder_attention.hpp"

namespace sluice {
namespace {

using decoder::Attending;
using test::DecoderPiecesOnGpu;
using test::for_each_heads;
using test::Heads;
using test::narrow_precisions;
using test::Pass;
using test::PassAttention;
using test::rows_of_prompts;

TEST_F(DecoderPiecesOnGpu, PromptsAttendOnTheTensorCores) {
    for (const Precision precision : narrow_precisions) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            for (const std::uint32_t length : long_prompts(precision, head_size)) {
                PassAttention attention(precision, heads, head_size, {.long_prompt = length});

                attention.prompts();

                EXPECT_LE(attention.error_of_rows(0, rows_of_prompts), 2 * tolerance(precision))
                    << name_of(precision) << ", long from " << length;
            }
        });
    }
}

/// Of lengths around those of steps and tiles; and their keys and values are in the cache.
TEST_F(DecoderPiecesOnGpu, LongPromptsAttend) {
    std::vector<Pass::Spec> texts;
    for (const std::uint32_t rows : {1U, 63U, 64U, 65U, 127U, 128U, 129U, 191U, 193U, 256U, 257U, 320U, 511U}) {
        texts.push_back({.first_position = 0, .rows = rows});
    }
    for (const Precision precision : narrow_precisions) {
        for (const std::uint32_t head_size : {64U, 128U}) {
            for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::prefix}) {
                for (const std::uint32_t length : long_prompts(precision, head_size)) {
                    SCOPED_TRACE(testing::Message()
                                 << name_of(precision) << ", heads of " << head_size << ", "
                                 << (mask == AttentionMask::causal ? "causal" : "prefix") << ", long from " << length);
                    PassAttention attention(precision, {4, 2}, head_size,
                                            {.texts = texts, .long_prompt = length, .mask = mask});

                    attention.prompts();
                    EXPECT_LE(attention.error_of_rows(0, attention.rows()), 2 * tolerance(precision));

                    attention.cached(Attending::wanted);
                    EXPECT_LE(attention.error_of_wanted(), tolerance(precision));
                }
            }
        }
    }
}

/// What other texts hold, which are before and after it in the pass, changes no bit of a prompt.
TEST_F(DecoderPiecesOnGpu, PromptsAttendToThemselvesOnly) {
    const std::vector<Pass::Spec> texts{{0, 70}, {0, 150}, {0, 70}, {0, 30}, {0, 70}};
    const auto expect_no_change = [&](PassAttention& attention) {
        attention.prompts();
        const std::vector<std::byte> expected = attention.written();
        attention.spoil(0);
        attention.spoil(2);
        attention.spoil(4);

        attention.prompts();

        const std::vector<std::byte> got = attention.written();
        const std::size_t row_bytes = got.size() / attention.rows();
        for (const auto& [first, rows] : {std::pair{70U, 150U}, {290U, 30U}}) {
            EXPECT_TRUE(std::ranges::equal(std::span(got).subspan(first * row_bytes, rows * row_bytes),
                                           std::span(expected).subspan(first * row_bytes, rows * row_bytes)))
                << first;
        }
    };
    for (const Precision precision : narrow_precisions) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            for (const std::uint32_t length : long_prompts(precision, head_size)) {
                for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::prefix}) {
                    SCOPED_TRACE(testing::Message() << name_of(precision) << ", long from " << length
                                                    << (mask == AttentionMask::causal ? ", causal" : ", prefix"));
                    PassAttention attention(precision, heads, head_size,
                                            {.texts = texts, .long_prompt = length, .mask = mask});
                    expect_no_change(attention);
                }
            }
        });
    }
}

/// By enough, every some steps, that what was mixed is scaled.
TEST_F(DecoderPiecesOnGpu, PromptsAttendWhereLaterKeysOutweighEarlierOnes) {
    constexpr float climb = 0.2F;  // e^(16 * 0.2) for a step: 2^8 takes two
    for (const Precision precision :
         {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            for (const std::uint32_t length : long_prompts(precision, head_size)) {
                PassAttention attention(precision, heads, head_size, {.climb = climb, .long_prompt = length});

                decoder::is_narrow(precision) ? attention.prompts() : attention.float_prompts();

                EXPECT_LE(attention.error_of_rows(0, rows_of_prompts), 8 * test::tolerance_of_rows(precision))
                    << name_of(precision) << ", long from " << length;
            }
        });
    }
}

/// More than there are blocks for, so that each block computes tiles of other prompts, in other groups, after its
/// first.
TEST_F(DecoderPiecesOnGpu, ManyPromptsAttendOnTheTensorCores) {
    std::mt19937 engine(std::random_device{}());
    std::vector<Pass::Spec> texts;
    for (std::uint32_t i = 0; i < 201; ++i) {
        const std::uint32_t most = i % 3 == 0 ? 192 : 40;
        texts.push_back({.first_position = 0, .rows = 1 + static_cast<std::uint32_t>(engine() % most)});
    }
    const std::pair<Precision, std::uint32_t> precisions[] = {{Precision::bf16, 32},   {Precision::fp16, 64},
                                                              {Precision::bf16, 128},  {Precision::tf32, 128},
                                                              {Precision::tf32x3, 64}, {Precision::fp16x2, 64}};
    for (const auto& [precision, head_size] : precisions) {
        for (const std::uint32_t length : long_prompts(precision, head_size)) {
            SCOPED_TRACE(testing::Message()
                         << name_of(precision) << ", heads of " << head_size << ", long from " << length);
            const bool is_narrow = decoder::is_narrow(precision);
            PassAttention attention(precision, {10, 5}, head_size, {.texts = texts, .long_prompt = length});

            is_narrow ? attention.prompts() : attention.float_prompts();

            const double most = test::tolerance_of_rows(precision);
            EXPECT_LE(attention.error_of_rows(0, attention.rows()), is_narrow ? 2 * most : most);

            attention.cached(Attending::wanted);
            EXPECT_LE(attention.error_of_wanted(), most);
        }
    }
}

}  // namespace
}  // namespace sluice

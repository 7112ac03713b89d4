#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/kernels/cuda/decoder_attention.hpp"

namespace sluice {
namespace {

using decoder::Attending;
using test::all_heads;
using test::DecoderPiecesOnGpu;
using test::for_each_heads;
using test::Heads;
using test::narrow_precisions;
using test::Pass;
using test::PassAttention;
using test::rows_of_prompts;

TEST_F(DecoderPiecesOnGpu, RowsAttendToTheCache) {
    for (const Precision precision : narrow_precisions) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            PassAttention attention(precision, heads, head_size);

            attention.cached(Attending::continued);
            EXPECT_LE(attention.error_of_rows(rows_of_prompts, attention.rows()), tolerance(precision))
                << name_of(precision);

            attention.cached_on(2);
            EXPECT_LE(attention.error_of_rows(rows_of_prompts, attention.rows()), tolerance(precision))
                << name_of(precision);

            attention.prompts();
            attention.cached(Attending::wanted);
            EXPECT_LE(attention.error_of_wanted(), tolerance(precision)) << name_of(precision);
        });
    }
}

/// Whether all warps of a block attend to a row, or each to one of its own, as where there are many.
TEST_F(DecoderPiecesOnGpu, RowsAttendToTheCacheWithTheSameBitsHoweverManyThereAre) {
    // Of whole runs, one position less, one more, and of more runs than a block of four warps takes at a time.
    const std::vector<Pass::Spec> texts{{0, 16}, {126, 1}, {127, 1}, {128, 1}, {255, 1}, {600, 1}};
    for (const Precision precision :
         {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            SCOPED_TRACE(testing::Message() << name_of(precision));
            PassAttention attention(precision, heads, head_size, {.texts = texts});
            attention.cached(Attending::continued);
            const std::vector<std::byte> of_few = attention.written();

            attention.cached_on(1);  // a warp has a row
            EXPECT_EQ(attention.written(), of_few);

            attention.cached_on(1000);  // the 16 warps of a block have a row
            EXPECT_EQ(attention.written(), of_few);
        });
    }
}

/// In tf32x3 as exactly as in fp32.
TEST_F(DecoderPiecesOnGpu, RowsAttendInTf32) {
    for (const Precision precision : {Precision::tf32, Precision::tf32x3, Precision::fp16x2}) {
        const double most = test::tolerance_of_rows(precision);
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            PassAttention attention(precision, heads, head_size);

            attention.float_prompts();
            attention.cached(Attending::continued);
            EXPECT_LE(attention.error_of_rows(0, attention.rows()), most) << name_of(precision);

            attention.cached(Attending::wanted);
            EXPECT_LE(attention.error_of_wanted(), most) << name_of(precision);
        });
    }
}

/// The kernels of heads of these sizes, and those of heads of any.
TEST_F(DecoderPiecesOnGpu, RowsAttendInFp32WithTheSameBits) {
    for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
        PassAttention plain(Precision::fp32, heads, head_size);
        plain.write_cache();
        plain.in_order(Attending::all);
        const std::vector<std::byte> expected = plain.written();
        plain.in_order(Attending::wanted);
        const std::vector<std::byte> expected_wanted = plain.written();
        PassAttention attention(Precision::fp32, heads, head_size);

        attention.prompts_in_order();
        attention.cached_in_order(Attending::continued);
        EXPECT_EQ(attention.written(), expected);

        attention.cached_in_order(Attending::wanted);
        EXPECT_EQ(attention.written(), expected_wanted);
    });
}

/// A layer whose prompts do not attend.
TEST_F(DecoderPiecesOnGpu, KeysAndValuesAreRemembered) {
    for (const Heads& heads : all_heads) {
        PassAttention attention(Precision::bf16, heads, 64);

        attention.write_cache();
        attention.cached(Attending::wanted);

        EXPECT_LE(attention.error_of_wanted(), tolerance(Precision::bf16)) << heads;
    }
}

TEST_F(DecoderPiecesOnGpu, RowsAttendInOrder) {
    for (const Precision precision : {Precision::fp32, Precision::tf32x3, Precision::fp16x2, Precision::tf32}) {
        const double most = test::tolerance_of_rows(precision);
        for (const Heads& heads : all_heads) {
            for (const std::uint32_t head_size : {5U, 24U, 64U}) {
                SCOPED_TRACE(testing::Message() << name_of(precision) << ", " << heads << ", of " << head_size);
                PassAttention attention(precision, heads, head_size);
                attention.write_cache();

                attention.in_order(Attending::all);
                EXPECT_LE(attention.error_of_rows(0, attention.rows()), most);

                attention.in_order(Attending::wanted);
                EXPECT_LE(attention.error_of_wanted(), most);
            }
        }
    }
}

}  // namespace
}  // namespace sluice

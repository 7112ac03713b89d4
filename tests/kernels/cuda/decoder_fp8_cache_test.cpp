#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/kernels/cuda/decoder_fp8_pass.hpp"

namespace sluice {
namespace {

using decoder::Attending;
using test::DecoderPiecesOnGpu;
using test::fp8_heads;
using test::Fp8Pass;
using test::narrow_precisions;
using test::rows_of_fp8_prompts;

/// Sizes of heads, and how many of queries attend to one of keys.
constexpr std::pair<std::uint32_t, std::uint32_t> fp8_sizes_and_groups[] = {{32, 1}, {64, 1}, {128, 1},
                                                                            {32, 2}, {64, 5}, {128, 4}};

/// In both ways into the cache, and nothing beside them is written.
TEST_F(DecoderPiecesOnGpu, KeysAndValuesAreRoundedToFp8) {
    for (const Precision precision : narrow_precisions) {
        const std::vector<float> factors = precision == Precision::bf16 ? std::vector{1e-38F, 2e37F, 0.0F, 1e-30F}
                                                                        : std::vector{1e-6F, 5e3F, 0.0F, 2.0F};
        for (const auto& [head_size, group] : fp8_sizes_and_groups) {
            SCOPED_TRACE(testing::Message()
                         << name_of(precision) << ", heads of " << head_size << ", " << group << " for one");
            Fp8Pass all(precision, head_size, group);
            Fp8Pass prompts(precision, head_size, group);
            for (Fp8Pass* const pass : {&all, &prompts}) {
                for (std::uint32_t i = 0; i < factors.size(); ++i) {
                    pass->scale_row(4, 2 * i, 1, factors[i]);
                    pass->scale_row(4, 3 * i, 2, factors[i]);
                }
                pass->send();
            }

            all.remember();
            prompts.prompts();

            EXPECT_EQ(all.wrong_in_cache(all.number_of_rows()), 0U);
            EXPECT_EQ(all.written_rows(), all.number_of_rows() * fp8_heads * 2);
            EXPECT_EQ(prompts.wrong_in_cache(rows_of_fp8_prompts), 0U);
            EXPECT_EQ(prompts.written_rows(), rows_of_fp8_prompts * fp8_heads * 2);
        }
    }
}

TEST_F(DecoderPiecesOnGpu, AValueThatIsNoNumberStaysOneInFp8) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Fp8Pass pass(Precision::bf16, 64);
        pass.part(5, 16, 1, 1)[40] = bad;
        pass.send();
        pass.fill_cache();
        const std::size_t number = rows_of_fp8_prompts;  // of text 5, the only one
        ASSERT_EQ(pass.row(number).slot, 5U);

        pass.remember();
        pass.cached(Attending::wanted);

        for (const double value : pass.in_cache(pass.row(number), 1, 0)) {
            EXPECT_TRUE(std::isnan(value));
        }
        for (const double value : pass.in_cache(pass.row(number), 0, 0)) {
            EXPECT_TRUE(std::isfinite(value));
        }
        const std::vector<float> out = decode(Precision::bf16, pass.written());
        EXPECT_TRUE(std::isfinite(out[5 * fp8_heads * 64]));
        EXPECT_TRUE(std::isnan(out[5 * fp8_heads * 64 + 64]));
    }
}

TEST_F(DecoderPiecesOnGpu, RowsAttendToACacheInFp8) {
    for (const Precision precision : narrow_precisions) {
        for (const auto& [head_size, group] : fp8_sizes_and_groups) {
            SCOPED_TRACE(testing::Message()
                         << name_of(precision) << ", heads of " << head_size << ", " << group << " for one");
            Fp8Pass pass(precision, head_size, group);
            if (precision == Precision::bf16) {  // beyond what fp16 has room for, but for their products
                for (std::uint32_t p = 0; p <= 190; ++p) {
                    for (const int exponent : {-30, 30}) {
                        const std::uint32_t text = exponent < 0 ? 7 : 9;
                        pass.scale_row(text, p, 0, std::ldexp(1.0F, exponent));
                        pass.scale_row(text, p, 1, std::ldexp(1.0F, -exponent));
                    }
                }
            }
            pass.send();
            pass.fill_cache();

            pass.cached(Attending::continued);
            EXPECT_LE(pass.error_of_rows(rows_of_fp8_prompts), tolerance(precision));

            pass.prompts();
            pass.cached(Attending::wanted);
            EXPECT_LE(pass.error_of_wanted(), tolerance(precision));

            pass.remember();
            pass.cached(Attending::wanted);
            EXPECT_LE(pass.error_of_wanted(), tolerance(precision));
        }
    }
}

/// A prompt attends to what it is, not to what is kept of it.
TEST_F(DecoderPiecesOnGpu, PromptsAttendAlikeWhateverTheCacheIsIn) {
    for (const Precision precision : narrow_precisions) {
        for (const auto& [head_size, group] : fp8_sizes_and_groups) {
            Fp8Pass pass(precision, head_size, group);
            pass.send();

            pass.prompts();
            const std::vector<std::byte> with_fp8 = pass.written();
            pass.prompts_with_plain_cache();

            EXPECT_EQ(pass.written(), with_fp8)
                << name_of(precision) << ", heads of " << head_size << ", " << group << " for one";
        }
    }
}

}  // namespace
}  // namespace sluice

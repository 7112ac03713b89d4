#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tests/kernels/cuda/decoder_quantised_pass.hpp"

namespace sluice {
namespace {

using decoder::Attending;
using test::DecoderPiecesOnGpu;
using test::key_heads;
using test::narrow_precisions;
using test::quantised_kinds;
using test::QuantisedPass;
using test::rows_of_quantised_prompts;

struct QuantisedCase {
    KvCache kind;
    Precision precision;
    std::uint32_t head_size;
    std::uint32_t group;  ///< Heads of queries that attend to one of keys.
    std::uint32_t long_prompt = decoder::no_prompt_is_long;
};

/// Calls `use` with each case, under its name. `long_prompts(precision, head size)`: lengths from which prompts are
/// long.
template <class Lengths, class Use>
void for_every_quantised_case(const Lengths& long_prompts, const Use& use) {
    for (const KvCache kind : quantised_kinds) {
        for (const Precision precision : narrow_precisions) {
            for (const auto& [head_size, group] :
                 {std::pair{32U, 1U}, {64U, 1U}, {128U, 1U}, {32U, 2U}, {64U, 5U}, {128U, 4U}}) {
                for (const std::uint32_t length : long_prompts(precision, head_size)) {
                    SCOPED_TRACE(testing::Message() << name_of(kind) << ", " << name_of(precision) << ", heads of "
                                                    << head_size << ", " << group << " for one, long from " << length);
                    use(QuantisedCase{kind, precision, head_size, group, length});
                }
            }
        }
    }
}

QuantisedPass quantised_pass(const QuantisedCase& one) {
    return {one.kind, one.precision, one.head_size, one.group, one.long_prompt};
}

/// In both ways into the cache, and nothing beside them is written.
TEST_F(DecoderPiecesOnGpu, KeysAndValuesAreQuantised) {
    for_every_quantised_case(
        [this](auto... of) { return long_prompts(of...); },
        [](const QuantisedCase& one) {
            const std::vector<float> factors = one.precision == Precision::bf16
                                                   ? std::vector{1e-38F, 2e37F, 0.0F, 1e-30F}
                                                   : std::vector{1e-6F, 5e3F, 0.0F, 2.0F};
            QuantisedPass all = quantised_pass(one);
            QuantisedPass prompts = quantised_pass(one);
            for (QuantisedPass* const pass : {&all, &prompts}) {
                for (std::uint32_t i = 0; i < factors.size(); ++i) {
                    pass->scale_row(4, 2 * i, 1, factors[i]);
                    pass->scale_row(4, 3 * i, 2, factors[i]);
                }
                pass->send();
            }

            EXPECT_EQ(all.rows_written_by([&] { all.write_cache(); }), all.number_of_rows() * key_heads * 2);
            EXPECT_EQ(all.wrong_in_cache(all.number_of_rows()), 0U);
            EXPECT_EQ(prompts.rows_written_by([&] { prompts.prompts(); }), rows_of_quantised_prompts * key_heads * 2);
            EXPECT_EQ(prompts.wrong_in_cache(rows_of_quantised_prompts), 0U);
        });
}

/// Values in the middle between two codes, too: a row of them has a scale of 1.
TEST_F(DecoderPiecesOnGpu, EveryCodeIsWrittenAndReadAsItsValue) {
    for (const KvCache kind : quantised_kinds) {
        for (const Precision precision : narrow_precisions) {
            SCOPED_TRACE(testing::Message() << name_of(kind) << ", " << name_of(precision));
            QuantisedPass pass(kind, precision, 128);
            std::vector<float> wanted = pass.code().all_values();
            for (std::size_t i = 1, codes = wanted.size(); i < codes; ++i) {
                wanted.push_back((wanted[i - 1] + wanted[i]) / 2);
            }
            const float largest = *std::ranges::max_element(wanted);
            std::size_t next = 0;
            for (std::uint32_t p = 0; p < 15; ++p) {  // of text 2, whose rows see those before them
                for (std::uint32_t head = 0; head < key_heads; ++head) {
                    for (const std::uint32_t part : {1U, 2U}) {
                        for (float& value : pass.part(2, p, part, head)) {
                            value = wanted[next++ % wanted.size()];
                        }
                        pass.part(2, p, part, head)[p] = largest;
                    }
                    std::ranges::fill(pass.part(2, p, 0, head), 0.0F);  // all weigh alike
                }
            }
            ASSERT_GT(next, 10 * wanted.size());
            next = 0;
            for (std::uint32_t head = 0; head < key_heads; ++head) {  // of text 1, which has one position
                for (float& value : pass.part(1, 0, 2, head)) {
                    value = wanted[next++ % pass.code().all_values().size()];
                }
                pass.part(1, 0, 2, head)[head] = largest;
            }
            ASSERT_GE(next, pass.code().all_values().size() + key_heads);
            pass.send();
            pass.fill_cache();

            pass.write_cache();
            EXPECT_EQ(pass.wrong_in_cache(pass.number_of_rows()), 0U);
            pass.cached(Attending::wanted);
            EXPECT_LE(pass.error_of_wanted(), tolerance(precision));
            pass.cached(Attending::wanted);
            const std::vector<float> out = decode(precision, pass.written());
            for (std::uint32_t head = 0; head < key_heads; ++head) {
                const auto got = std::span(out).subspan((key_heads + head) * 128, 128);
                EXPECT_TRUE(std::ranges::equal(got, pass.part(1, 0, 2, head))) << head;
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, AValueThatIsNoNumberStaysOneInAQuantisedCache) {
    for (const KvCache kind : quantised_kinds) {
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            for (const std::uint32_t matrix : {0U, 1U}) {
                SCOPED_TRACE(testing::Message() << name_of(kind) << ", " << bad << ", matrix " << matrix);
                QuantisedPass pass(kind, Precision::bf16, 64);
                pass.part(5, 16, 1 + matrix, 1)[40] = bad;
                pass.send();
                pass.fill_cache();
                const std::size_t number = rows_of_quantised_prompts;  // of text 5, the only one
                ASSERT_EQ(pass.row(number).slot, 5U);

                pass.write_cache();
                pass.cached(Attending::wanted);

                for (const double value : pass.in_cache(pass.row(number), 1, matrix)) {
                    EXPECT_TRUE(std::isnan(value));
                }
                for (const double value : pass.in_cache(pass.row(number), 0, matrix)) {
                    EXPECT_TRUE(std::isfinite(value));
                }
                const std::vector<float> out = decode(Precision::bf16, pass.written());
                const auto head = [&](std::uint32_t of) {
                    return std::span(out).subspan((5 * key_heads + of) * 64, 64);
                };
                EXPECT_TRUE(std::ranges::all_of(head(0), [](float value) { return std::isfinite(value); }));
                EXPECT_TRUE(std::ranges::all_of(head(1), [](float value) { return std::isnan(value); }));
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, RowsAttendToAQuantisedCache) {
    for_every_quantised_case(
        [this](auto... of) { return long_prompts(of...); },
        [](const QuantisedCase& one) {
            QuantisedPass pass = quantised_pass(one);
            if (one.precision == Precision::bf16) {  // beyond what fp16 has room for, but for their products
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
            EXPECT_LE(pass.error_of_rows(rows_of_quantised_prompts), tolerance(one.precision));

            pass.prompts();
            pass.cached(Attending::wanted);
            EXPECT_LE(pass.error_of_wanted(), tolerance(one.precision));

            pass.write_cache();
            pass.cached(Attending::wanted);
            EXPECT_LE(pass.error_of_wanted(), tolerance(one.precision));
        });
}

/// A prompt attends to what it is, not to what is kept of it.
TEST_F(DecoderPiecesOnGpu, PromptsAttendAlikeWhateverTheCacheIsIn) {
    for_every_quantised_case([this](auto... of) { return long_prompts(of...); },
                             [](const QuantisedCase& one) {
                                 QuantisedPass pass = quantised_pass(one);
                                 pass.send();

                                 pass.prompts();
                                 const std::vector<std::byte> with_quantised = pass.written();
                                 pass.prompts_with_plain_cache();

                                 EXPECT_EQ(pass.written(), with_quantised);
                             });
}

}  // namespace
}  // namespace sluice

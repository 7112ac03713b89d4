#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/rows.hpp"
#include "kernels/cuda/decoder/sizes.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

namespace sluice {
namespace {

using decoder::Attending;
using decoder::Row;
using test::DecoderPiecesOnGpu;
using test::floats_for_product;
using test::narrow_precisions;
using test::Pass;

struct Heads {
    std::uint32_t of_queries;
    std::uint32_t of_keys;
};

/// As many of keys; groups that fill a warp's heads, and others.
constexpr Heads all_heads[] = {{3, 3}, {8, 2}, {6, 2}, {5, 1}};

std::ostream& operator<<(std::ostream& out, const Heads& heads) {
    return out << heads.of_queries << " heads for " << heads.of_keys;
}

/// Queries, keys and values of all positions of some texts, and what attention makes of them.
class PlainAttention {
public:
    /// Scaled scores grow by `climb` from a key to the next one, besides what is random.
    PlainAttention(Precision precision, const Heads& heads, std::uint32_t head_size,
                   const std::vector<Pass::Spec>& texts, float climb)
        : heads_(heads), size_(head_size), positions_(longest_of(texts)) {
        std::vector<float> values = random_values(texts.size() * positions_ * row_width(), 1, head_size);
        for (std::size_t row = 0; climb != 0 && row < texts.size() * positions_; ++row) {
            const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * row_width());
            for (std::uint32_t head = 0; head < heads.of_queries; ++head) {
                begin[head * head_size] = 4;
            }
            for (std::uint32_t head = 0; head < heads.of_keys; ++head) {
                begin[width() + head * head_size] =
                    static_cast<float>(row % positions_) * climb / 4 * std::sqrt(static_cast<float>(head_size));
            }
        }
        values_ = rounded(precision, values);
    }

    [[nodiscard]] std::uint32_t positions() const { return positions_; }

    /// Of queries, of keys or values, and of all three.
    [[nodiscard]] std::uint32_t width() const { return heads_.of_queries * size_; }
    [[nodiscard]] std::uint32_t key_width() const { return heads_.of_keys * size_; }
    [[nodiscard]] std::uint32_t row_width() const { return width() + 2 * key_width(); }

    /// Queries, keys and values.
    [[nodiscard]] std::span<const float> at(std::uint32_t text, std::uint32_t position) const {
        return std::span(values_).subspan((std::size_t{text} * positions_ + position) * row_width(), row_width());
    }

    [[nodiscard]] std::vector<double> mixed(std::uint32_t text, std::uint32_t position) const {
        std::vector<double> result(width());
        for (std::uint32_t head = 0; head < heads_.of_queries; ++head) {
            const std::span<const float> query = at(text, position).subspan(head * size_, size_);
            const std::uint32_t key_at = width() + head / (heads_.of_queries / heads_.of_keys) * size_;
            std::vector<double> weights;
            for (std::uint32_t p = 0; p <= position; ++p) {
                const std::span<const float> key = at(text, p).subspan(key_at, size_);
                const double score = std::inner_product(query.begin(), query.end(), key.begin(), 0.0, std::plus(),
                                                        [](double a, double b) { return a * b; });
                weights.push_back(std::exp(score / std::sqrt(static_cast<double>(size_))));
            }
            const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
            for (std::uint32_t p = 0; p <= position; ++p) {
                const std::span<const float> value = at(text, p).subspan(key_at + key_width(), size_);
                for (std::uint32_t d = 0; d < size_; ++d) {
                    result[head * size_ + d] += weights[p] / sum * static_cast<double>(value[d]);
                }
            }
        }
        return result;
    }

private:
    static std::uint32_t longest_of(const std::vector<Pass::Spec>& texts) {
        std::uint32_t longest = 0;
        for (const Pass::Spec& text : texts) {
            longest = std::max(longest, text.first_position + text.rows);
        }
        return longest;
    }

    Heads heads_;
    std::uint32_t size_;
    std::uint32_t positions_;  // of the longest text
    std::vector<float> values_;
};

/// Texts that begin, of lengths that fill tiles and do not, then some that continue.
const std::vector<Pass::Spec> mixed_pass{{0, 16}, {0, 1},   {0, 33}, {0, 150}, {16, 1},
                                         {15, 1}, {190, 1}, {7, 1},  {600, 1}};

/// Attention of a pass in a precision, in all the ways that there are.
class PassAttention {
public:
    PassAttention(Precision precision, const Heads& heads, std::uint32_t head_size,
                  const std::vector<Pass::Spec>& texts = mixed_pass, float climb = 0)
        : precision_(precision),
          texts_(texts),
          plain_(in_one_part(precision), heads, head_size, texts, climb),
          pass_(texts),
          queries_(pass_.rows.size() * plain_.row_width() * sizeof(float)),
          cache_memory_(std::size_t{2} * pass_.pages() * decoder::page_positions * 2 * plain_.key_width() *
                        number_bytes(precision)),
          out_(pass_.rows.size() * plain_.width() * number_bytes(precision)) {
        std::vector<float> values;
        for (const Row& row : pass_.rows) {
            const std::span<const float> at = plain_.at(row.slot, row.position);
            values.insert(values.end(), at.begin(), at.end());
        }
        queries_.set(std::span<const std::byte>(encode(in_one_part(precision), values)));
        attention_ = {.queries = queries_.as(),
                      .out = out_.as(),
                      .stride = plain_.row_width(),
                      .out_stride = plain_.width(),
                      .heads = heads.of_queries,
                      .key_heads = heads.of_keys,
                      .head_size = head_size,
                      .positions = plain_.positions(),
                      .scale = 1.0F / std::sqrt(static_cast<float>(head_size))};
        cache_ = {.values = cache_memory_.as(), .pages = pass_.pages(), .width = plain_.key_width()};
        fill_cache();
    }

    void write_cache() {
        const std::byte* const keys = queries_.as<std::byte>() + plain_.width() * number_bytes(precision_);
        decoder::enqueue_cache_write(pass_.memory(), precision_, keys, attention_.stride, cache_, layer, nullptr);
    }
    void prompts() {
        decoder::enqueue_prompt_attention(pass_.memory(), precision_, attention_, cache_, layer, nullptr);
    }
    void float_prompts() {
        decoder::enqueue_float_prompt_attention(pass_.memory(), precision_, attention_, cache_, layer, nullptr);
    }
    void prompts_in_order() { decoder::enqueue_prompts_in_order(pass_.memory(), attention_, cache_, layer, nullptr); }
    void cached_in_order(Attending attending) {
        decoder::enqueue_cached_in_order(pass_.memory(), attention_, cache_, layer, attending, nullptr);
    }
    void cached(Attending attending) {
        decoder::enqueue_cached_attention(pass_.memory(), precision_, attention_, cache_, layer, attending, nullptr);
    }
    void cached_on(std::uint32_t multiprocessors) {
        decoder::Attention attention = attention_;
        attention.multiprocessors = multiprocessors;
        decoder::enqueue_cached_attention(pass_.memory(), precision_, attention, cache_, layer, Attending::continued,
                                          nullptr);
    }
    void in_order(Attending attending) {
        decoder::enqueue_attention_in_order(pass_.memory(), precision_, attention_, cache_, layer, attending, nullptr);
    }

    /// Of rows from `first` on, or of the last row of each entry; then what was written is forgotten.
    [[nodiscard]] double error_of_rows(std::size_t first, std::size_t end) {
        std::vector<std::size_t> numbers(end - first);
        std::iota(numbers.begin(), numbers.end(), first);
        return error_of(numbers, first);
    }
    [[nodiscard]] double error_of_wanted() {
        std::vector<std::size_t> numbers;
        std::size_t end = 0;
        for (const Pass::Spec& spec : texts_) {
            end += spec.rows;
            numbers.push_back(end - 1);
        }
        return error_of(numbers, 0);
    }
    /// What was written, which is forgotten then.
    [[nodiscard]] std::vector<std::byte> written() {
        std::vector<std::byte> bytes = out_.content();
        out_.poison();
        return bytes;
    }
    [[nodiscard]] std::size_t rows() const { return pass_.rows.size(); }

private:
    static constexpr std::uint32_t layer = 1;

    /// The positions before the pass.
    void fill_cache() {
        std::vector<float> values(cache_memory_.content().size() / number_bytes(precision_));
        for (std::uint32_t text = 0; text < texts_.size(); ++text) {
            for (std::uint32_t p = 0; p < texts_[text].first_position; ++p) {
                const std::uint32_t page = pass_.page_table[text * pass_.text_pages + p / decoder::page_positions];
                const std::size_t at = ((std::size_t{layer} * pass_.pages() + page) * decoder::page_positions +
                                        p % decoder::page_positions) *
                                       2 * plain_.key_width();
                std::ranges::copy(plain_.at(text, p).subspan(plain_.width()),
                                  values.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        cache_memory_.set(std::span<const std::byte>(encode(in_one_part(precision_), values)));
    }

    [[nodiscard]] double error_of(const std::vector<std::size_t>& numbers, std::size_t first) {
        const std::vector<float> all = floats_for_product(precision_, out_, plain_.width());
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * plain_.width());
        const std::vector<float> got(begin, begin + static_cast<std::ptrdiff_t>(numbers.size() * plain_.width()));
        std::vector<double> expected;
        for (const std::size_t number : numbers) {
            const std::vector<double> mixed = plain_.mixed(pass_.rows[number].slot, pass_.rows[number].position);
            expected.insert(expected.end(), mixed.begin(), mixed.end());
        }
        out_.poison();
        return relative_error(got, expected);
    }

    Precision precision_;
    std::vector<Pass::Spec> texts_;
    PlainAttention plain_;
    Pass pass_;
    DeviceMemory queries_;
    DeviceMemory cache_memory_;
    DeviceMemory out_;
    decoder::Attention attention_{};
    decoder::Cache cache_{};
};

constexpr std::size_t rows_of_prompts = 16 + 1 + 33 + 150;

/// Calls `test(heads, head size)` of all that the quick kernels have.
template <class Test>
void for_each_heads(const Test& test) {
    for (const Heads& heads : all_heads) {
        for (const std::uint32_t head_size : {32U, 64U, 128U}) {
            SCOPED_TRACE(testing::Message() << heads << ", of " << head_size);
            test(heads, head_size);
        }
    }
}

TEST_F(DecoderPiecesOnGpu, PromptsAttendOnTheTensorCores) {
    for (const Precision precision : narrow_precisions) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            PassAttention attention(precision, heads, head_size);

            attention.prompts();

            EXPECT_LE(attention.error_of_rows(0, rows_of_prompts), 2 * tolerance(precision)) << name_of(precision);
        });
    }
}

/// By enough, every some steps, that what was mixed is scaled.
TEST_F(DecoderPiecesOnGpu, PromptsAttendWhereLaterKeysOutweighEarlierOnes) {
    constexpr float climb = 0.2F;  // e^(16 * 0.2) for a step: 2^8 takes two
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3}) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            PassAttention attention(precision, heads, head_size, mixed_pass, climb);

            decoder::is_narrow(precision) ? attention.prompts() : attention.float_prompts();

            EXPECT_LE(attention.error_of_rows(0, rows_of_prompts), 8 * tolerance(in_one_part(precision)))
                << name_of(precision);
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
    const std::pair<Precision, std::uint32_t> precisions[] = {
        {Precision::bf16, 32}, {Precision::fp16, 64}, {Precision::tf32, 128}, {Precision::tf32x3, 64}};
    for (const auto& [precision, head_size] : precisions) {
        SCOPED_TRACE(testing::Message() << name_of(precision) << ", heads of " << head_size);
        const bool is_narrow = decoder::is_narrow(precision);
        PassAttention attention(precision, {16, 4}, head_size, texts);

        is_narrow ? attention.prompts() : attention.float_prompts();

        const double most = tolerance(in_one_part(precision));
        EXPECT_LE(attention.error_of_rows(0, attention.rows()), is_narrow ? 2 * most : most);

        attention.cached(Attending::wanted);
        EXPECT_LE(attention.error_of_wanted(), most);
    }
}

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
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3}) {
        for_each_heads([&](const Heads& heads, std::uint32_t head_size) {
            SCOPED_TRACE(testing::Message() << name_of(precision));
            PassAttention attention(precision, heads, head_size, texts);
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
    for (const Precision precision : {Precision::tf32, Precision::tf32x3}) {
        const double most = tolerance(in_one_part(precision));
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
    for (const Precision precision : {Precision::fp32, Precision::tf32x3, Precision::tf32}) {
        const double most = tolerance(in_one_part(precision));
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

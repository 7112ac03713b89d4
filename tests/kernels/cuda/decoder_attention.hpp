#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <ostream>
#include <span>
#include <vector>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

/// Attention of a pass's rows, and what plain formulas make of it.
namespace sluice::test {

using decoder::Attending;

struct Heads {
    std::uint32_t of_queries;
    std::uint32_t of_keys;
};

/// As many of keys; groups that fill a warp's heads, and others.
inline constexpr Heads all_heads[] = {{3, 3}, {8, 2}, {6, 2}, {5, 1}};

inline std::ostream& operator<<(std::ostream& out, const Heads& heads) {
    return out << heads.of_queries << " heads for " << heads.of_keys;
}

/// Queries, keys and values of all positions of some texts, and what attention makes of them.
class PlainAttention {
public:
    /// Scaled scores grow by `climb` from a key to the next one, besides what is random.
    PlainAttention(Precision precision, const Heads& heads, std::uint32_t head_size,
                   const std::vector<Pass::Spec>& texts, float climb, AttentionMask mask)
        : heads_(heads), size_(head_size), texts_(texts), mask_(mask), positions_(longest_of(texts)) {
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
        const Pass::Spec& spec = texts_[text];
        const std::uint32_t prompt = spec.first_position == 0 ? spec.rows : spec.first_position;
        const std::uint32_t last = mask_ == AttentionMask::causal ? position : std::max(position, prompt - 1);
        for (std::uint32_t head = 0; head < heads_.of_queries; ++head) {
            const std::span<const float> query = at(text, position).subspan(head * size_, size_);
            const std::uint32_t key_at = width() + head / (heads_.of_queries / heads_.of_keys) * size_;
            std::vector<double> weights;
            for (std::uint32_t p = 0; p <= last; ++p) {
                const std::span<const float> key = at(text, p).subspan(key_at, size_);
                const double score = std::inner_product(query.begin(), query.end(), key.begin(), 0.0, std::plus(),
                                                        [](double a, double b) { return a * b; });
                weights.push_back(std::exp(score / std::sqrt(static_cast<double>(size_))));
            }
            const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
            for (std::uint32_t p = 0; p <= last; ++p) {
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
    std::vector<Pass::Spec> texts_;
    AttentionMask mask_;
    std::uint32_t positions_;  // of the longest text
    std::vector<float> values_;
};

/// Texts that begin, of lengths that fill tiles and do not, then some that continue.
inline const std::vector<Pass::Spec> mixed_pass{{0, 16}, {0, 1},   {0, 33}, {0, 150}, {16, 1},
                                                {15, 1}, {190, 1}, {7, 1},  {600, 1}};

/// Attention of a pass in a precision, in all the ways that there are.
class PassAttention {
public:
    struct Options {
        std::vector<Pass::Spec> texts = mixed_pass;
        float climb = 0;
        std::uint32_t long_prompt = decoder::no_prompt_is_long;
        AttentionMask mask = AttentionMask::causal;
    };

    PassAttention(Precision precision, const Heads& heads, std::uint32_t head_size, const Options& options)
        : precision_(precision),
          texts_(options.texts),
          plain_(in_one_part(precision), heads, head_size, options.texts, options.climb, options.mask),
          pass_(options.texts, options.long_prompt),
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
                      .scale = 1.0F / std::sqrt(static_cast<float>(head_size)),
                      .mask = options.mask};
        cache_ = {.values = cache_memory_.as(), .pages = pass_.pages(), .width = plain_.key_width()};
        fill_cache();
    }

    PassAttention(Precision precision, const Heads& heads, std::uint32_t head_size)
        : PassAttention(precision, heads, head_size, Options{}) {}

    /// All that the text's rows hold becomes NaN.
    void spoil(std::uint32_t text) {
        std::vector<std::byte> bytes = queries_.content();
        const std::size_t row_bytes = plain_.row_width() * number_bytes(precision_);
        for (std::size_t i = 0; i < pass_.rows.size(); ++i) {
            if (pass_.rows[i].slot == text) {
                std::ranges::fill(std::span(bytes).subspan(i * row_bytes, row_bytes), std::byte{0xFF});
            }
        }
        queries_.set(std::span<const std::byte>(bytes));
    }

    void write_cache() {
        const std::byte* const keys = queries_.as<std::byte>() + plain_.width() * number_bytes(precision_);
        decoder::enqueue_cache_write(pass_.memory(), precision_, keys, attention_.stride, cache_, layer, nullptr);
    }
    void prompts() { enqueue_prompts(pass_, precision_, attention_, cache_, layer); }
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

inline constexpr std::size_t rows_of_prompts = 16 + 1 + 33 + 150;

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

}  // namespace sluice::test

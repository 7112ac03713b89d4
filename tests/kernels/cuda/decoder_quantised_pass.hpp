#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "tests/kernels/cuda/decoder_cache_codes.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

/// A decoder's pass with a quantised cache, and what plain formulas make of it.
namespace sluice::test {

using decoder::Attending;

/// Texts that begin, of lengths that fill tiles and do not, then some that continue.
inline const std::vector<Pass::Spec> quantised_specs{{0, 16}, {0, 1},   {0, 15}, {0, 17}, {0, 150}, {16, 1},
                                                     {15, 1}, {190, 1}, {7, 1},  {63, 1}, {64, 1},  {1, 1}};

inline constexpr std::size_t rows_of_quantised_prompts = 16 + 1 + 15 + 17 + 150;

inline constexpr std::uint32_t key_heads = 3;  // of keys

/// A pass of such texts, whose cache is quantised, in the second of two layers.
class QuantisedPass {
public:
    /// So many heads of queries attend to one of keys.
    QuantisedPass(KvCache kind, Precision precision, std::uint32_t head_size, std::uint32_t group = 1,
                  std::uint32_t long_prompt = decoder::no_prompt_is_long)
        : code_(kind),
          precision_(precision),
          size_(head_size),
          width_(key_heads * head_size),
          heads_(group * key_heads),
          pass_(quantised_specs, long_prompt),
          values_(random_values(quantised_specs.size() * positions * row_width(), 1, head_size)),
          cache_memory_(scales_begin() / size_ * (size_ + code_.scale_bytes())),
          out_(pass_.rows.size() * query_width() * number_bytes(precision)) {
        for (std::size_t text = 0; text < quantised_specs.size(); ++text) {  // rows of several sizes
            for (std::uint32_t p = 0; p < positions; ++p) {
                scale_row(text, p, 1, std::ldexp(1.0F, static_cast<int>(p % 3) - 1));
                scale_row(text, p, 2, std::ldexp(1.0F, static_cast<int>(p % 7) - 3));
            }
        }
    }

    [[nodiscard]] const CacheCode& code() const { return code_; }
    [[nodiscard]] std::size_t number_of_rows() const { return pass_.rows.size(); }
    [[nodiscard]] const Row& row(std::size_t number) const { return pass_.rows[number]; }

    /// Of a text's position: 0 its query, 1 its key, 2 its value; of a head.
    [[nodiscard]] std::span<float> part(std::size_t text, std::uint32_t position, std::uint32_t part,
                                        std::uint32_t head) {
        const std::size_t at = part == 0 ? 0 : query_width() + (part - 1) * width_;
        return std::span(values_).subspan((text * positions + position) * row_width() + at + head * size_, size_);
    }
    void scale_row(std::size_t text, std::uint32_t position, std::uint32_t of, float factor) {
        for (std::uint32_t head = 0; head < (of == 0 ? heads_ : key_heads); ++head) {
            for (float& value : part(text, position, of, head)) {
                value *= factor;
            }
        }
    }

    /// To be called once all values are as they are wanted.
    void send() {
        values_ = rounded(precision_, values_);
        std::vector<float> rows;
        for (const Row& row : pass_.rows) {
            const auto at =
                values_.begin() + static_cast<std::ptrdiff_t>((row.slot * positions + row.position) * row_width());
            rows.insert(rows.end(), at, at + static_cast<std::ptrdiff_t>(row_width()));
        }
        queries_.set(std::span<const std::byte>(encode(precision_, rows)));
    }

    /// The positions before the pass, by the host.
    void fill_cache() {
        std::vector<std::byte> bytes = cache_memory_.content();
        for (std::uint32_t text = 0; text < quantised_specs.size(); ++text) {
            for (std::uint32_t p = 0; p < quantised_specs[text].first_position; ++p) {
                for (std::uint32_t head = 0; head < key_heads; ++head) {
                    for (const std::uint32_t matrix : {0U, 1U}) {
                        const std::span<const float> row = part(text, p, 1 + matrix, head);
                        std::ranges::transform(code_.unscaled(row), &bytes[value_at(text, p, head, matrix)],
                                               [&](double value) { return code_.code_of(value); });
                        code_.write_scale(code_.scale_of(row), &bytes[scale_at(text, p, head, matrix)]);
                    }
                }
            }
        }
        cache_memory_.set(std::span<const std::byte>(bytes));
    }

    void write_cache() {
        const auto* const keys = queries_.as<std::byte>() + query_width() * number_bytes(precision_);
        decoder::enqueue_cache_write(pass_.memory(), precision_, keys, row_width(), cache(), 1, nullptr);
    }
    void prompts() { enqueue_prompts(pass_, precision_, attention(), cache(), 1); }
    void prompts_with_plain_cache() {
        const DeviceMemory memory(2 * layer_bytes() * number_bytes(precision_));
        enqueue_prompts(pass_, precision_, attention(),
                        {.values = memory.as(), .pages = pass_.pages(), .width = width_}, 1);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    void cached(Attending attending) {
        decoder::enqueue_cached_attention(pass_.memory(), precision_, attention(), cache(), 1, attending, nullptr);
    }

    /// Rows of heads among the first `rows` of the pass that are not what they should be, or too far from it.
    [[nodiscard]] std::size_t wrong_in_cache(std::size_t rows) {
        const std::vector<std::byte> bytes = cache_memory_.content();
        std::size_t wrong = 0;
        for (std::size_t number = 0; number < rows; ++number) {
            for (std::uint32_t head = 0; head < key_heads; ++head) {
                for (const std::uint32_t matrix : {0U, 1U}) {
                    const auto expected = part(row(number).slot, row(number).position, 1 + matrix, head);
                    const std::vector<double> got = read(bytes, row(number), head, matrix);
                    wrong += got == code_.rounded_row(expected) && is_near(got, expected) ? 0 : 1;
                }
            }
        }
        return wrong;
    }
    /// Rows of heads that `write` writes, each as a whole: with any content before they are the same after.
    template <class Write>
    [[nodiscard]] std::size_t rows_written_by(const Write& write) {
        const auto content_after = [&](std::byte before) {
            const std::vector<std::byte> filled(cache_memory_.content().size(), before);
            cache_memory_.set(std::span<const std::byte>(filled));
            write();
            return cache_memory_.content();
        };
        const std::vector<std::byte> a = content_after(std::byte{0});
        const std::vector<std::byte> b = content_after(std::byte{0xff});
        std::size_t written = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            written += a[i] == b[i] ? 1 : 0;
        }
        EXPECT_EQ(written % (size_ + code_.scale_bytes()), 0U);
        return written / (size_ + code_.scale_bytes());
    }
    [[nodiscard]] std::vector<double> in_cache(const Row& row, std::uint32_t head, std::uint32_t matrix) const {
        return read(cache_memory_.content(), row, head, matrix);
    }

    /// Of the rows of the pass from `first` on, or of the last row of each text.
    [[nodiscard]] double error_of_rows(std::size_t first) {
        std::vector<std::size_t> numbers;
        for (std::size_t number = first; number < number_of_rows(); ++number) {
            numbers.push_back(number);
        }
        return error_of(numbers, first);
    }
    [[nodiscard]] double error_of_wanted() {
        std::vector<std::size_t> numbers;
        std::size_t end = 0;
        for (const Pass::Spec& spec : quantised_specs) {
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

private:
    static constexpr std::uint32_t positions = 192;

    [[nodiscard]] std::uint32_t query_width() const { return heads_ * size_; }
    [[nodiscard]] std::uint32_t row_width() const { return query_width() + 2 * width_; }

    [[nodiscard]] std::size_t layer_bytes() const {
        return std::size_t{2} * pass_.pages() * decoder::page_positions * width_;
    }
    [[nodiscard]] std::size_t scales_begin() const { return 2 * layer_bytes(); }

    [[nodiscard]] decoder::Cache cache() const {
        return {.values = cache_memory_.as(),
                .pages = pass_.pages(),
                .width = width_,
                .kind = code_.kind(),
                .scales = cache_memory_.as<std::uint8_t>() + scales_begin(),
                .head_size = size_};
    }
    [[nodiscard]] decoder::Attention attention() const {
        return {.queries = queries_.as(),
                .out = out_.as(),
                .stride = row_width(),
                .out_stride = query_width(),
                .heads = heads_,
                .key_heads = key_heads,
                .head_size = size_,
                .positions = positions,
                .scale = 1.0F / std::sqrt(static_cast<float>(size_))};
    }

    /// In layer 1.
    [[nodiscard]] std::size_t head_at(std::uint32_t text, std::uint32_t position, std::uint32_t head) const {
        const std::uint32_t page = pass_.page_table[text * pass_.text_pages + position / decoder::page_positions];
        return (std::size_t{pass_.pages()} + page) * key_heads + head;
    }
    [[nodiscard]] std::size_t value_at(std::uint32_t text, std::uint32_t position, std::uint32_t head,
                                       std::uint32_t matrix) const {
        return ((head_at(text, position, head) * 2 + matrix) * decoder::page_positions +
                position % decoder::page_positions) *
               size_;
    }
    [[nodiscard]] std::size_t scale_at(std::uint32_t text, std::uint32_t position, std::uint32_t head,
                                       std::uint32_t matrix) const {
        const std::size_t row = head_at(text, position, head) * decoder::page_positions;
        return scales_begin() + ((row + position % decoder::page_positions) * 2 + matrix) * code_.scale_bytes();
    }
    [[nodiscard]] std::vector<double> read(const std::vector<std::byte>& bytes, const Row& row, std::uint32_t head,
                                           std::uint32_t matrix) const {
        const double scale = code_.read_scale(&bytes[scale_at(row.slot, row.position, head, matrix)]);
        const std::size_t at = value_at(row.slot, row.position, head, matrix);
        std::vector<double> result;
        for (std::uint32_t i = 0; i < size_; ++i) {
            result.push_back(code_.value_of(bytes[at + i]) * scale);
        }
        return result;
    }

    [[nodiscard]] bool is_near(const std::vector<double>& got, std::span<const float> expected) const {
        const double most = code_.most_off() * std::max(largest_of(expected), std::ldexp(127, -126));
        return std::ranges::equal(got, expected,
                                  [&](double a, float b) { return std::abs(a - static_cast<double>(b)) <= most; });
    }

    /// By the rounded keys and values, in double precision.
    [[nodiscard]] std::vector<double> mixed(std::uint32_t text, std::uint32_t position) {
        std::vector<double> result;
        for (std::uint32_t head = 0; head < heads_; ++head) {
            const std::span<const float> query = part(text, position, 0, head);
            const std::uint32_t of_keys = head / (heads_ / key_heads);
            std::vector<double> sums(size_);
            double weights = 0;
            for (std::uint32_t p = 0; p <= position; ++p) {
                const std::vector<double> key = code_.rounded_row(part(text, p, 1, of_keys));
                const std::vector<double> value = code_.rounded_row(part(text, p, 2, of_keys));
                double score = 0;
                for (std::uint32_t i = 0; i < size_; ++i) {
                    score += static_cast<double>(query[i]) * key[i];
                }
                const double weight = std::exp(score / std::sqrt(static_cast<double>(size_)));
                weights += weight;
                for (std::uint32_t i = 0; i < size_; ++i) {
                    sums[i] += weight * value[i];
                }
            }
            for (const double sum : sums) {
                result.push_back(sum / weights);
            }
        }
        return result;
    }

    [[nodiscard]] double error_of(const std::vector<std::size_t>& numbers, std::size_t first) {
        const std::vector<float> all = decode(precision_, written());
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * query_width());
        const std::vector<float> got(begin, begin + static_cast<std::ptrdiff_t>(numbers.size() * query_width()));
        std::vector<double> expected;
        for (const std::size_t number : numbers) {
            const std::vector<double> one = mixed(row(number).slot, row(number).position);
            expected.insert(expected.end(), one.begin(), one.end());
        }
        return relative_error(got, expected);
    }

    CacheCode code_;
    Precision precision_;
    std::uint32_t size_;
    std::uint32_t width_;  // of keys
    std::uint32_t heads_;  // of queries
    Pass pass_;
    std::vector<float> values_;  // (texts, positions, row_width())
    DeviceMemory queries_{std::size_t{1} << 20U};
    DeviceMemory cache_memory_;
    DeviceMemory out_;
};

}  // namespace sluice::test

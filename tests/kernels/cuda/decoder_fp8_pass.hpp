#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/rows.hpp"
#include "tests/kernels/cuda/decoder_pieces.hpp"

/// A decoder's pass with a cache in fp8, and what plain formulas make of it.
namespace sluice::test {

using decoder::Attending;

inline double value_of_e4m3(std::uint8_t code) {
    const int exponent = code / 8 % 16;
    const int mantissa = code % 8;
    const double size = exponent == 15 && mantissa == 7 ? std::numeric_limits<double>::quiet_NaN()
                        : exponent == 0                 ? std::ldexp(mantissa, -9)
                                                        : std::ldexp(8 + mantissa, exponent - 10);
    return code < 128 ? size : -size;
}

/// To the nearest e4m3, halves to even, of up to 448.
inline double rounded_to_e4m3(double value) {
    const int exponent = value == 0 ? -6 : std::max(std::ilogb(value), -6);
    const double step = std::ldexp(1, exponent - 3);
    return std::nearbyint(value / step) * step;
}

/// The power of two by which a row of a head is divided.
inline int exponent_of(std::span<const float> row) {
    double largest = 0;
    for (const float value : row) {
        largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    int exponent = -126;
    while (std::ldexp(448, exponent) < largest) {
        ++exponent;
    }
    return exponent;
}

inline std::vector<double> rounded_row(std::span<const float> row) {
    const int exponent = exponent_of(row);
    std::vector<double> result;
    for (const float value : row) {
        result.push_back(std::ldexp(rounded_to_e4m3(std::ldexp(static_cast<double>(value), -exponent)), exponent));
    }
    return result;
}

/// Texts that begin, of lengths that fill tiles and do not, then some that continue.
inline const std::vector<Pass::Spec> fp8_specs{{0, 16}, {0, 1},   {0, 15}, {0, 17}, {0, 150}, {16, 1},
                                               {15, 1}, {190, 1}, {7, 1},  {63, 1}, {64, 1},  {1, 1}};

inline constexpr std::size_t rows_of_fp8_prompts = 16 + 1 + 15 + 17 + 150;

inline constexpr std::uint32_t fp8_heads = 3;  // of keys

/// A pass of such texts, whose cache is in fp8, in the second of two layers.
class Fp8Pass {
public:
    /// So many heads of queries attend to one of keys.
    explicit Fp8Pass(Precision precision, std::uint32_t head_size, std::uint32_t group = 1)
        : precision_(precision),
          size_(head_size),
          width_(fp8_heads * head_size),
          heads_(group * fp8_heads),
          pass_(fp8_specs),
          values_(random_values(fp8_specs.size() * positions * row_width(), 1, head_size)),
          cache_memory_(scales_begin() / size_ * (size_ + 1)),
          out_(pass_.rows.size() * query_width() * number_bytes(precision)) {
        for (std::size_t text = 0; text < fp8_specs.size(); ++text) {  // rows of several sizes
            for (std::uint32_t p = 0; p < positions; ++p) {
                scale_row(text, p, 1, std::ldexp(1.0F, static_cast<int>(p % 3) - 1));
                scale_row(text, p, 2, std::ldexp(1.0F, static_cast<int>(p % 7) - 3));
            }
        }
    }

    [[nodiscard]] std::size_t number_of_rows() const { return pass_.rows.size(); }
    [[nodiscard]] const Row& row(std::size_t number) const { return pass_.rows[number]; }

    /// Of a text's position: 0 its query, 1 its key, 2 its value; of a head.
    [[nodiscard]] std::span<float> part(std::size_t text, std::uint32_t position, std::uint32_t part,
                                        std::uint32_t head) {
        const std::size_t at = part == 0 ? 0 : query_width() + (part - 1) * width_;
        return std::span(values_).subspan((text * positions + position) * row_width() + at + head * size_, size_);
    }
    void scale_row(std::size_t text, std::uint32_t position, std::uint32_t of, float factor) {
        for (std::uint32_t head = 0; head < (of == 0 ? heads_ : fp8_heads); ++head) {
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
        std::map<double, std::uint8_t> codes;
        for (std::uint32_t code = 0; code < 255; ++code) {
            if (code != 127 && code != 128) {
                codes[value_of_e4m3(static_cast<std::uint8_t>(code))] = static_cast<std::uint8_t>(code);
            }
        }
        std::vector<std::byte> bytes = cache_memory_.content();
        for (std::uint32_t text = 0; text < fp8_specs.size(); ++text) {
            for (std::uint32_t p = 0; p < fp8_specs[text].first_position; ++p) {
                for (std::uint32_t head = 0; head < fp8_heads; ++head) {
                    for (const std::uint32_t matrix : {0U, 1U}) {
                        const std::span<const float> row = part(text, p, 1 + matrix, head);
                        const int exponent = exponent_of(row);
                        const std::vector<double> kept = rounded_row(row);
                        for (std::uint32_t i = 0; i < size_; ++i) {
                            bytes[value_at(text, p, head, matrix) + i] =
                                std::byte{codes.at(std::ldexp(kept[i], -exponent))};
                        }
                        bytes[scale_at(text, p, head, matrix)] = static_cast<std::byte>(exponent + 127);
                    }
                }
            }
        }
        cache_memory_.set(std::span<const std::byte>(bytes));
    }

    void remember() {
        const auto* const keys = queries_.as<std::byte>() + query_width() * number_bytes(precision_);
        decoder::enqueue_remember(pass_.memory(), precision_, keys, row_width(), cache(), 1, nullptr);
    }
    void prompts() { decoder::enqueue_prompt_attention(pass_.memory(), precision_, attention(), cache(), 1, nullptr); }
    void prompts_with_plain_cache() {
        const DeviceMemory memory(2 * layer_bytes() * number_bytes(precision_));
        decoder::enqueue_prompt_attention(pass_.memory(), precision_, attention(),
                                          {.values = memory.as(), .pages = pass_.pages(), .width = width_}, 1, nullptr);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    void cached(Attending attending) {
        decoder::enqueue_cached_attention(pass_.memory(), precision_, attention(), cache(), 1, attending, nullptr);
    }

    /// Rows of heads among the first `rows` of the pass that are not what they should be.
    [[nodiscard]] std::size_t wrong_in_cache(std::size_t rows) {
        const std::vector<std::byte> bytes = cache_memory_.content();
        std::size_t wrong = 0;
        for (std::size_t number = 0; number < rows; ++number) {
            for (std::uint32_t head = 0; head < fp8_heads; ++head) {
                for (const std::uint32_t matrix : {0U, 1U}) {
                    wrong += read(bytes, row(number), head, matrix) ==
                                     rounded_row(part(row(number).slot, row(number).position, 1 + matrix, head))
                                 ? 0
                                 : 1;
                }
            }
        }
        return wrong;
    }
    /// Rows of heads that were written: none of their bytes is what the memory was filled with.
    [[nodiscard]] std::size_t written_rows() const {
        const std::vector<std::byte> bytes = cache_memory_.content();
        const auto written = bytes.size() - static_cast<std::size_t>(std::ranges::count(bytes, std::byte{0xff}));
        EXPECT_EQ(written % (size_ + 1), 0U);
        return written / (size_ + 1);
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
        for (const Pass::Spec& spec : fp8_specs) {
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
                .kind = KvCache::fp8,
                .scales = cache_memory_.as<std::uint8_t>() + scales_begin(),
                .head_size = size_};
    }
    [[nodiscard]] decoder::Attention attention() const {
        return {.queries = queries_.as(),
                .out = out_.as(),
                .stride = row_width(),
                .out_stride = query_width(),
                .heads = heads_,
                .key_heads = fp8_heads,
                .head_size = size_,
                .positions = positions,
                .scale = 1.0F / std::sqrt(static_cast<float>(size_))};
    }

    /// In layer 1.
    [[nodiscard]] std::size_t head_at(std::uint32_t text, std::uint32_t position, std::uint32_t head) const {
        const std::uint32_t page = pass_.page_table[text * Pass::text_pages + position / decoder::page_positions];
        return (std::size_t{pass_.pages()} + page) * fp8_heads + head;
    }
    [[nodiscard]] std::size_t value_at(std::uint32_t text, std::uint32_t position, std::uint32_t head,
                                       std::uint32_t matrix) const {
        return ((head_at(text, position, head) * 2 + matrix) * decoder::page_positions +
                position % decoder::page_positions) *
               size_;
    }
    [[nodiscard]] std::size_t scale_at(std::uint32_t text, std::uint32_t position, std::uint32_t head,
                                       std::uint32_t matrix) const {
        return scales_begin() +
               (head_at(text, position, head) * decoder::page_positions + position % decoder::page_positions) * 2 +
               matrix;
    }
    [[nodiscard]] std::vector<double> read(const std::vector<std::byte>& bytes, const Row& row, std::uint32_t head,
                                           std::uint32_t matrix) const {
        const auto scale = static_cast<int>(bytes[scale_at(row.slot, row.position, head, matrix)]);
        const std::size_t at = value_at(row.slot, row.position, head, matrix);
        std::vector<double> result;
        for (std::uint32_t i = 0; i < size_; ++i) {
            result.push_back(std::ldexp(value_of_e4m3(static_cast<std::uint8_t>(bytes[at + i])), scale - 127));
        }
        return result;
    }

    /// By the rounded keys and values, in double precision.
    [[nodiscard]] std::vector<double> mixed(std::uint32_t text, std::uint32_t position) {
        std::vector<double> result;
        for (std::uint32_t head = 0; head < heads_; ++head) {
            const std::span<const float> query = part(text, position, 0, head);
            const std::uint32_t of_keys = head / (heads_ / fp8_heads);
            std::vector<double> sums(size_);
            double weights = 0;
            for (std::uint32_t p = 0; p <= position; ++p) {
                const std::vector<double> key = rounded_row(part(text, p, 1, of_keys));
                const std::vector<double> value = rounded_row(part(text, p, 2, of_keys));
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

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/choose.hpp"
#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/cuda/decoder/rows.hpp"
#include "kernels/host/token_draw.hpp"
#include "kernels/philox.hpp"
#include "tests/kernels/cuda/gpu.hpp"

/// A decoder's kernels one by one, each beside plain loops.
namespace sluice {
namespace {

using decoder::Attending;
using decoder::Entry;
using decoder::Row;
using decoder::Text;

constexpr std::array narrow_precisions{Precision::bf16, Precision::fp16};

template <class T>
std::span<const std::byte> bytes_in(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

class DecoderPiecesOnGpu : public OnGpu {
protected:
    [[nodiscard]] bool has_wgmma() const { return gpu().instructions() == MatrixInstructions::wgmma; }
};

/// Texts in the midst of a pass, with a cache of shuffled pages.
class Pass {
public:
    struct Spec {
        std::uint32_t first_position;
        std::uint32_t rows;
    };

    explicit Pass(const std::vector<Spec>& specs) : specs_(specs) {
        std::vector<Entry> entries;
        std::vector<decoder::Tile> tiles;
        decoder::Batch batch;
        for (std::uint32_t slot = 0; slot < specs.size(); ++slot) {
            const Spec& spec = specs[slot];
            const auto first_row = static_cast<std::uint32_t>(rows.size());
            entries.push_back({.slot = slot,
                               .first_row = first_row,
                               .rows = spec.rows,
                               .first_position = spec.first_position,
                               .first_tile = static_cast<std::uint32_t>(tiles.size())});
            for (std::uint32_t i = 0; i < spec.rows; ++i) {
                rows.push_back({slot, spec.first_position + i, (slot * 31 + i * 7) % 50});
            }
            if (spec.first_position == 0) {
                for (std::uint32_t query = 0; query < spec.rows; query += decoder::tile_queries) {
                    tiles.push_back({slot, first_row, spec.rows, query});
                }
                ++batch.beginning;
                batch.beginning_rows = static_cast<std::uint32_t>(rows.size());
            }
        }
        batch.entries = static_cast<std::uint32_t>(specs.size());
        batch.continued = batch.entries - batch.beginning;
        batch.rows = static_cast<std::uint32_t>(rows.size());
        batch.tiles = static_cast<std::uint32_t>(tiles.size());
        page_table.resize(specs.size() * text_pages);
        for (std::uint32_t i = 0; i < page_table.size(); ++i) {
            page_table[i] = (i * 7 + 3) % pages();
        }
        entries_.set(bytes_in(entries));
        rows_.set(bytes_in(rows));
        tiles_.set(bytes_in(tiles));
        batch_.set(std::as_bytes(std::span(&batch, 1)));
        page_table_.set(bytes_in(page_table));
    }

    /// 7 has no factor in common with it, so that all pages differ.
    [[nodiscard]] std::uint32_t pages() const { return static_cast<std::uint32_t>(specs_.size()) * text_pages + 1; }

    [[nodiscard]] decoder::Memory memory() const {
        return {.batch = batch_.as<decoder::Batch>(),
                .texts = texts_.as<Text>(),
                .entries = entries_.as<Entry>(),
                .rows = rows_.as<Row>(),
                .tiles = tiles_.as<decoder::Tile>(),
                .page_table = page_table_.as<std::uint32_t>(),
                .slots = static_cast<std::uint32_t>(specs_.size()),
                .most_rows = 1024,
                .text_pages = text_pages};
    }

    static constexpr std::uint32_t text_pages = 12;
    std::vector<Row> rows;
    std::vector<std::uint32_t> page_table;

private:
    static constexpr std::size_t room = 64 << 10;
    std::vector<Spec> specs_;
    DeviceMemory batch_{sizeof(decoder::Batch)};
    DeviceMemory texts_{room};
    DeviceMemory entries_{room};
    DeviceMemory rows_{room};
    DeviceMemory tiles_{room};
    DeviceMemory page_table_{room};
};

std::vector<float> floats_in(Precision precision, const DeviceMemory& memory) {
    return decode(precision, memory.content());
}

TEST_F(DecoderPiecesOnGpu, ProductsAddUpAsPlainLoopsDo) {
    if (!has_wgmma()) {
        GTEST_SKIP() << "no wgmma: its code, or its GPU, is another";
    }
    constexpr std::uint32_t rows = 300;
    constexpr std::array<std::uint32_t, 1> active{261};
    const DeviceMemory count(std::as_bytes(std::span(active)));
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32}) {
        for (const std::uint32_t columns : {8U, 257U, 600U}) {
            for (const std::uint32_t depth : {8U, 72U, 520U}) {
                const auto a = rounded(precision, random_values(std::size_t{rows} * depth, 1, depth));
                const auto b = rounded(precision, random_values(std::size_t{columns} * depth,
                                                                1 / std::sqrt(static_cast<float>(depth)), columns));
                const auto bias = random_values(columns + 1, 0.5F, 3);
                const std::uint32_t stride = (columns + 9) / 8 * 8;
                const auto residual = random_values(std::size_t{rows} * stride, 1, 4);
                const DeviceMemory on_device[] = {DeviceMemory(std::span<const std::byte>(encode(precision, a))),
                                                  DeviceMemory(std::span<const std::byte>(encode(precision, b))),
                                                  DeviceMemory(bytes_in(bias)), DeviceMemory(bytes_in(residual))};
                const DeviceMemory out(residual.size() * sizeof(float));
                const DeviceMemory bests(rows * decoder::float_product_tiles(columns) * sizeof(decoder::TileBest));
                const decoder::FloatProductShape shape{.rows = rows, .columns = columns, .depth = depth};
                decoder::FloatProductMemory memory{.a = on_device[0].as(),
                                                   .b = on_device[1].as(),
                                                   .bias = on_device[2].as<float>(),
                                                   .residual = on_device[3].as<float>(),
                                                   .out = out.as<float>(),
                                                   .stride = stride,
                                                   .bests = nullptr,
                                                   .active = count.as<std::uint32_t>()};

                decoder::FloatProduct(shape, precision, memory).enqueue(nullptr);
                memory.bias = nullptr;
                memory.bests = bests.as<decoder::TileBest>();
                decoder::FloatProduct(shape, precision, memory).enqueue(nullptr);

                const std::vector<float> got = floats_in(Precision::fp32, out);
                const std::vector<std::byte> best_bytes = bests.content();
                std::vector<float> values;
                std::vector<double> expected;
                for (std::uint32_t m = 0; m < active[0]; ++m) {
                    double largest = -std::numeric_limits<double>::infinity();
                    std::vector<double> sums(columns);
                    for (std::uint32_t n = 0; n < columns; ++n) {
                        for (std::uint32_t k = 0; k < depth; ++k) {
                            sums[n] += static_cast<double>(a[m * depth + k]) * static_cast<double>(b[n * depth + k]);
                        }
                        largest = std::max(largest, sums[n]);
                        values.push_back(got[std::size_t{m} * stride + n]);
                        expected.push_back(sums[n] + static_cast<double>(bias[n]) +
                                           static_cast<double>(residual[std::size_t{m} * stride + n]));
                    }
                    decoder::TileBest best{-std::numeric_limits<float>::infinity(), 0};
                    for (std::uint32_t t = 0; t < decoder::float_product_tiles(columns); ++t) {
                        decoder::TileBest tile{};
                        std::memcpy(&tile, &best_bytes[(m * decoder::float_product_tiles(columns) + t) * sizeof tile],
                                    sizeof tile);
                        ASSERT_EQ(tile.place / 256, t) << name_of(precision) << ", row " << m;
                        best = tile.score > best.score ? tile : best;
                    }
                    ASSERT_LT(best.place, columns);
                    EXPECT_NEAR(sums[best.place], largest, 1e-4) << name_of(precision) << ", row " << m;
                }
                EXPECT_LE(relative_error(values, expected), 1e-5)
                    << name_of(precision) << ", " << columns << " columns, " << depth << " deep";
            }
        }
    }
}

TEST_F(DecoderPiecesOnGpu, RowsAreNormalised) {
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
        for (const std::uint32_t width : {8U, 64U, 768U, 1600U, 4096U}) {
            constexpr std::uint32_t rows = 37;
            constexpr std::array<std::uint32_t, 1> active{35};
            const DeviceMemory count(std::as_bytes(std::span(active)));
            std::vector<float> x = random_values(std::size_t{rows} * width, 2, width);
            x[width / 2] = 300;  // a channel far from the others, as models have them
            x = rounded(precision, x);
            const auto gamma = random_values(width, 1, 5);
            const auto beta = random_values(width, 1, 6);
            const DeviceMemory from(std::span<const std::byte>(encode(precision, x)));
            const DeviceMemory to(from.content().size());
            const DeviceMemory of_gamma(bytes_in(gamma));
            const DeviceMemory of_beta(bytes_in(beta));

            decoder::enqueue_norm(precision,
                                  {.from = from.as(),
                                   .to = to.as(),
                                   .gamma = of_gamma.as<float>(),
                                   .beta = of_beta.as<float>(),
                                   .epsilon = 1e-5F,
                                   .width = width,
                                   .stride = width,
                                   .most_rows = rows,
                                   .rows = count.as<std::uint32_t>()},
                                  nullptr);

            std::vector<float> got = floats_in(precision, to);
            got.resize(std::size_t{active[0]} * width);
            std::vector<double> expected;
            for (std::uint32_t row = 0; row < active[0]; ++row) {
                double mean = 0;
                double variance = 0;
                for (std::uint32_t i = 0; i < width; ++i) {
                    mean += static_cast<double>(x[row * width + i]) / width;
                }
                for (std::uint32_t i = 0; i < width; ++i) {
                    variance += std::pow(static_cast<double>(x[row * width + i]) - mean, 2) / width;
                }
                for (std::uint32_t i = 0; i < width; ++i) {
                    expected.push_back((static_cast<double>(x[row * width + i]) - mean) / std::sqrt(variance + 1e-5) *
                                           static_cast<double>(gamma[i]) +
                                       static_cast<double>(beta[i]));
                }
            }
            EXPECT_LE(relative_error(got, expected), tolerance(precision)) << name_of(precision) << ", " << width;
        }
    }
}

/// Queries, keys and values of all positions of some texts, and what attention makes of them.
class PlainAttention {
public:
    PlainAttention(Precision precision, std::uint32_t heads, std::uint32_t head_size)
        : heads_(heads), size_(head_size), width_(heads * head_size) {
        values_ = rounded(precision, random_values(std::size_t{texts} * positions * 3 * width_, 1, head_size));
    }

    static constexpr std::uint32_t texts = 8;
    static constexpr std::uint32_t positions = 192;

    [[nodiscard]] std::uint32_t width() const { return width_; }

    /// (3, width): queries, keys and values.
    [[nodiscard]] std::span<const float> at(std::uint32_t text, std::uint32_t position) const {
        return std::span(values_).subspan((std::size_t{text} * positions + position) * 3 * width_, 3 * width_);
    }

    [[nodiscard]] std::vector<double> mixed(std::uint32_t text, std::uint32_t position) const {
        std::vector<double> result(width_);
        for (std::uint32_t head = 0; head < heads_; ++head) {
            std::vector<double> weights;
            for (std::uint32_t p = 0; p <= position; ++p) {
                double score = 0;
                for (std::uint32_t d = 0; d < size_; ++d) {
                    score += static_cast<double>(at(text, position)[head * size_ + d]) *
                             static_cast<double>(at(text, p)[width_ + head * size_ + d]);
                }
                weights.push_back(std::exp(score / std::sqrt(static_cast<double>(size_))));
            }
            const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
            for (std::uint32_t p = 0; p <= position; ++p) {
                for (std::uint32_t d = 0; d < size_; ++d) {
                    result[head * size_ + d] +=
                        weights[p] / sum * static_cast<double>(at(text, p)[2 * width_ + head * size_ + d]);
                }
            }
        }
        return result;
    }

private:
    std::uint32_t heads_;
    std::uint32_t size_;
    std::uint32_t width_;
    std::vector<float> values_;
};

/// Texts that begin, of lengths that fill tiles and do not, then some that continue.
const std::vector<Pass::Spec> mixed_pass{{0, 16}, {0, 1}, {0, 33}, {0, 150}, {16, 1}, {15, 1}, {190, 1}, {7, 1}};

/// Attention of a pass in a precision, in all the ways that there are.
class PassAttention {
public:
    PassAttention(Precision precision, std::uint32_t heads, std::uint32_t head_size)
        : precision_(precision),
          plain_(precision, heads, head_size),
          pass_(mixed_pass),
          cache_memory_(std::size_t{2} * pass_.pages() * decoder::page_positions * 2 * plain_.width() *
                        number_bytes(precision)),
          out_(pass_.rows.size() * plain_.width() * number_bytes(precision)) {
        std::vector<float> values;
        for (const Row& row : pass_.rows) {
            const std::span<const float> at = plain_.at(row.slot, row.position);
            values.insert(values.end(), at.begin(), at.end());
        }
        queries_.set(std::span<const std::byte>(encode(precision, values)));
        attention_ = {.queries = queries_.as(),
                      .out = out_.as(),
                      .stride = 3 * plain_.width(),
                      .out_stride = plain_.width(),
                      .heads = heads,
                      .head_size = head_size,
                      .positions = PlainAttention::positions,
                      .scale = 1.0F / std::sqrt(static_cast<float>(head_size))};
        cache_ = {.values = cache_memory_.as(), .pages = pass_.pages(), .width = plain_.width()};
        fill_cache();
    }

    void remember() {
        decoder::enqueue_remember(pass_.memory(), precision_, queries_.as(), attention_.stride, cache_, layer, nullptr);
    }
    void prompts() {
        decoder::enqueue_prompt_attention(pass_.memory(), precision_, attention_, cache_, layer, nullptr);
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
        for (const Pass::Spec& spec : mixed_pass) {
            end += spec.rows;
            numbers.push_back(end - 1);
        }
        return error_of(numbers, 0);
    }
    [[nodiscard]] std::size_t rows() const { return pass_.rows.size(); }

private:
    static constexpr std::uint32_t layer = 1;

    /// The positions before the pass.
    void fill_cache() {
        std::vector<float> values(cache_memory_.content().size() / number_bytes(precision_));
        for (std::uint32_t text = 0; text < mixed_pass.size(); ++text) {
            for (std::uint32_t p = 0; p < mixed_pass[text].first_position; ++p) {
                const std::uint32_t page = pass_.page_table[text * Pass::text_pages + p / decoder::page_positions];
                const std::size_t at = ((std::size_t{layer} * pass_.pages() + page) * decoder::page_positions +
                                        p % decoder::page_positions) *
                                       2 * plain_.width();
                std::ranges::copy(plain_.at(text, p).subspan(plain_.width()),
                                  values.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        cache_memory_.set(std::span<const std::byte>(encode(precision_, values)));
    }

    [[nodiscard]] double error_of(const std::vector<std::size_t>& numbers, std::size_t first) {
        const std::vector<float> all = floats_in(precision_, out_);
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
    PlainAttention plain_;
    Pass pass_;
    DeviceMemory queries_{std::size_t{1} << 20};
    DeviceMemory cache_memory_;
    DeviceMemory out_;
    decoder::Attention attention_{};
    decoder::Cache cache_{};
};

constexpr std::size_t rows_of_prompts = 16 + 1 + 33 + 150;

TEST_F(DecoderPiecesOnGpu, PromptsAttendOnTheTensorCores) {
    for (const Precision precision : narrow_precisions) {
        for (const std::uint32_t head_size : {32U, 64U, 128U}) {
            PassAttention attention(precision, 3, head_size);

            attention.prompts();

            EXPECT_LE(attention.error_of_rows(0, rows_of_prompts), 2 * tolerance(precision))
                << name_of(precision) << ", heads of " << head_size;
        }
    }
}

/// In bf16 and fp16 attention itself brings keys and values there; in tf32 they are there before.
TEST_F(DecoderPiecesOnGpu, RowsAttendToTheCache) {
    for (const Precision precision : narrow_precisions) {
        for (const std::uint32_t head_size : {32U, 64U, 128U}) {
            PassAttention attention(precision, 3, head_size);

            attention.cached(Attending::continued);
            EXPECT_LE(attention.error_of_rows(rows_of_prompts, attention.rows()), tolerance(precision))
                << name_of(precision) << ", heads of " << head_size;

            attention.cached_on(2);
            EXPECT_LE(attention.error_of_rows(rows_of_prompts, attention.rows()), tolerance(precision))
                << name_of(precision) << ", heads of " << head_size;

            attention.prompts();
            attention.cached(Attending::wanted);
            EXPECT_LE(attention.error_of_wanted(), tolerance(precision))
                << name_of(precision) << ", heads of " << head_size;
        }
    }
    for (const std::uint32_t head_size : {32U, 64U, 128U}) {
        PassAttention attention(Precision::tf32, 3, head_size);
        attention.remember();

        attention.cached(Attending::all);
        EXPECT_LE(attention.error_of_rows(0, attention.rows()), tolerance(Precision::tf32)) << head_size;

        attention.cached(Attending::wanted);
        EXPECT_LE(attention.error_of_wanted(), tolerance(Precision::tf32)) << head_size;
    }
}

/// A layer whose prompts do not attend.
TEST_F(DecoderPiecesOnGpu, KeysAndValuesAreRemembered) {
    PassAttention attention(Precision::bf16, 3, 64);

    attention.remember();
    attention.cached(Attending::wanted);

    EXPECT_LE(attention.error_of_wanted(), tolerance(Precision::bf16));
}

TEST_F(DecoderPiecesOnGpu, RowsAttendInOrder) {
    for (const Precision precision : {Precision::fp32, Precision::tf32}) {
        for (const std::uint32_t head_size : {5U, 24U, 64U}) {
            PassAttention attention(precision, 3, head_size);
            attention.remember();

            attention.in_order(Attending::all);
            EXPECT_LE(attention.error_of_rows(0, attention.rows()), tolerance(precision)) << head_size;

            attention.in_order(Attending::wanted);
            EXPECT_LE(attention.error_of_wanted(), tolerance(precision)) << head_size;
        }
    }
}

/// Texts that have one token of a prompt, and results, for which scores are there.
class Choices {
public:
    Choices(const TokenSampling& sampling, std::uint32_t entries, std::uint32_t vocabulary)
        : sampling_(sampling),
          vocabulary_(vocabulary),
          stride_((vocabulary + 7) / 8 * 8),
          pass_(std::vector<Pass::Spec>(entries, {0, 1})),
          in_(entries * decoder_io(sampling).input_bytes),
          out_(entries * decoder_io(sampling).output_bytes),
          texts_(entries),
          scores_(random_values(std::size_t{entries} * stride_, 3, vocabulary)) {
        std::vector<std::byte> items(in_.content().size());
        for (std::uint32_t i = 0; i < entries; ++i) {
            const PromptStart start{.number = 1000 + i, .tokens = 2};
            const std::array<std::uint32_t, 2> prompt{i % vocabulary, (i * 3 + 1) % vocabulary};
            std::byte* const item = &items[i * decoder_io(sampling).input_bytes];
            std::memcpy(item, &start, sizeof start);
            std::memcpy(item + sizeof start, prompt.data(), sizeof prompt);
            texts_[i] = {.number = start.number, .item = i, .prompt = 2, .pages = 1};
            for (const std::uint32_t token : prompt) {  // as likely as may be: what is punished shows
                scores_[std::size_t{i} * stride_ + token] += 6;
            }
            scores_[std::size_t{i} * stride_ + (i * 5 + 2) % vocabulary] =
                *std::max_element(row(i).begin(), row(i).end());  // ties
        }
        in_.set(items);
        check_cuda(
            cudaMemcpy(pass_.memory().texts, texts_.data(), texts_.size() * sizeof(Text), cudaMemcpyHostToDevice),
            "cudaMemcpy");
        decoder::Batch batch;
        check_cuda(cudaMemcpy(&batch, pass_.memory().batch, sizeof batch, cudaMemcpyDeviceToHost), "cudaMemcpy");
        batch.in = in_.as<const std::byte>();
        batch.out = out_.as<std::byte>();
        check_cuda(cudaMemcpy(pass_.memory().batch, &batch, sizeof batch, cudaMemcpyHostToDevice), "cudaMemcpy");
    }

    void choose() {
        const DeviceMemory scores(bytes_in(scores_));
        decoder::enqueue_choose(pass_.memory(), decoder::rule_of(sampling_), scores.as<float>(), vocabulary_, stride_,
                                nullptr);
        read();
    }

    void take_best() {
        std::vector<decoder::TileBest> bests;
        const std::uint32_t tiles = decoder::float_product_tiles(vocabulary_);
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            for (std::uint32_t tile = 0; tile < tiles; ++tile) {
                const auto begin = row(i).begin() + tile * 256;
                const auto end = tile + 1 == tiles ? row(i).end() : begin + 256;
                const auto best = std::max_element(begin, end);
                bests.push_back({*best, static_cast<std::uint32_t>(best - row(i).begin())});
            }
        }
        const DeviceMemory on_device(bytes_in(bests));
        decoder::enqueue_take_best(pass_.memory(), decoder::rule_of(sampling_), on_device.as<decoder::TileBest>(),
                                   tiles, nullptr);
        read();
    }

    [[nodiscard]] std::span<const float> row(std::uint32_t i) const {
        return std::span(scores_).subspan(std::size_t{i} * stride_, vocabulary_);
    }

    /// As the host chooses.
    void expect_hosts_tokens() {
        TokenDraw draw(sampling_, vocabulary_);
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            const std::array<std::uint32_t, 2> prompt{i % vocabulary_, (i * 3 + 1) % vocabulary_};
            const float uniform =
                uniform_below_one(random_words(sampling_.seed, {.item = texts_[i].number, .number = 0}).words[0]);
            const std::uint32_t token = draw.choose(row(i), {prompt}, uniform);
            ASSERT_EQ(texts_[i].made, 1U) << i;
            ASSERT_EQ(texts_[i].last, token) << i << " of a vocabulary of " << vocabulary_;
            if (sampling_.log_probabilities) {
                float got = 0;
                std::memcpy(&got,
                            &results_[i * decoder_io(sampling_).output_bytes + sizeof(ContinuationStart) +
                                      sampling_.max_new * sizeof(std::uint32_t)],
                            sizeof got);
                EXPECT_NEAR(got, draw.log_probability(row(i), token), 1e-6) << i;
            }
        }
    }

private:
    void read() {
        check_cuda(
            cudaMemcpy(texts_.data(), pass_.memory().texts, texts_.size() * sizeof(Text), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
        results_ = out_.content();
    }

    TokenSampling sampling_;
    std::uint32_t vocabulary_;
    std::uint32_t stride_;
    Pass pass_;
    DeviceMemory in_;
    DeviceMemory out_;
    std::vector<Text> texts_;
    std::vector<float> scores_;
    std::vector<std::byte> results_;
};

TEST_F(DecoderPiecesOnGpu, TokensAreChosenAsTheHostChoosesThem) {
    const TokenSampling rules[] = {
        {.max_prompt = 2, .max_new = 2, .temperature = 0, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.5F, .temperature = 0},
        {.max_prompt = 2, .max_new = 2, .seed = 3, .log_probabilities = true},
        {.max_prompt = 2, .max_new = 2, .temperature = 0.7F, .top_k = 5, .seed = 4},
        {.max_prompt = 2, .max_new = 2, .temperature = 1.5F, .top_p = 0.9F, .seed = 5},
        {.max_prompt = 2, .max_new = 2, .repetition_penalty = 1.2F, .temperature = 0.9F, .top_k = 40, .top_p = 0.7F},
    };
    for (const TokenSampling& rule : rules) {
        for (const std::uint32_t vocabulary : {11U, 1000U, 3001U}) {
            Choices choices(rule, 40, vocabulary);

            choices.choose();

            choices.expect_hosts_tokens();
        }
    }
}

TEST_F(DecoderPiecesOnGpu, TheLargestScoreIsFoundAmongTiles) {
    for (const std::uint32_t vocabulary : {11U, 256U, 3001U, 10'000U}) {
        Choices choices({.max_prompt = 2, .max_new = 2, .temperature = 0}, 40, vocabulary);

        choices.take_best();

        choices.expect_hosts_tokens();
    }
}

}  // namespace
}  // namespace sluice

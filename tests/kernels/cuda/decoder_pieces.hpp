#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/decoder/prompts/long_prompt_attention.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "tests/kernels/cuda/gpu.hpp"
#include "tests/kernels/cuda/half_codes.hpp"

/// What tests of a decoder's kernels, one by one, share.
namespace sluice::test {

using decoder::Entry;
using decoder::Row;
using decoder::Text;

inline constexpr std::array narrow_precisions{Precision::bf16, Precision::fp16};

template <class T>
std::span<const std::byte> bytes_in(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

class DecoderPiecesOnGpu : public OnGpu {
protected:
    /// Lengths from which prompts are long, in tests of attention with such heads: none, all, and some.
    [[nodiscard]] std::vector<std::uint32_t> long_prompts(Precision precision, std::uint32_t head_size) {
        std::vector<std::uint32_t> lengths{decoder::no_prompt_is_long};
        if (gpu().instructions() == MatrixInstructions::wgmma && decoder::has_long_prompts(precision, head_size)) {
            lengths.insert(lengths.end(), {1, 64});
        }
        return lengths;
    }
};

/// Texts in the midst of a pass, with a cache of shuffled pages.
class Pass {
public:
    struct Spec {
        std::uint32_t first_position;
        std::uint32_t rows;
    };

    /// `long_prompt`: as in decoder::Memory. `attends_in_product`: whether there are prompt_pages.
    explicit Pass(const std::vector<Spec>& specs, std::uint32_t long_prompt = decoder::no_prompt_is_long,
                  bool attends_in_product = false)
        : text_pages(pages_of_longest(specs)),
          specs_(specs),
          long_prompt_(long_prompt),
          attends_in_product_(attends_in_product) {
        std::vector<Text> texts;
        std::vector<Entry> entries;
        std::vector<decoder::Tile> tiles;
        std::vector<decoder::Tile> long_texts;
        decoder::Batch batch;
        for (std::uint32_t slot = 0; slot < specs.size(); ++slot) {
            const Spec& spec = specs[slot];
            const auto first_row = static_cast<std::uint32_t>(rows.size());
            const bool is_long = spec.rows >= long_prompt;
            std::vector<decoder::Tile>& own_tiles = is_long ? long_texts : tiles;
            texts.push_back({.prompt = spec.first_position == 0 ? spec.rows : spec.first_position});
            entries.push_back({.slot = slot,
                               .first_row = first_row,
                               .rows = spec.rows,
                               .first_position = spec.first_position,
                               .first_tile = static_cast<std::uint32_t>(own_tiles.size())});
            for (std::uint32_t i = 0; i < spec.rows; ++i) {
                rows.push_back({slot, spec.first_position + i, (slot * 31 + i * 7) % 50});
            }
            if (spec.first_position == 0) {
                const std::uint32_t queries = is_long ? spec.rows : decoder::tile_queries;
                const bool has_tiles = !has_page(first_row, spec.rows);
                for (std::uint32_t query = 0; has_tiles && query < spec.rows; query += queries) {
                    own_tiles.push_back({slot, first_row, spec.rows, query, 0});
                }
                batch.longest_text = std::max(batch.longest_text, is_long ? spec.rows : 0);
                ++batch.beginning;
                batch.beginning_rows = static_cast<std::uint32_t>(rows.size());
            }
        }
        batch.entries = static_cast<std::uint32_t>(specs.size());
        batch.continued = batch.entries - batch.beginning;
        batch.rows = static_cast<std::uint32_t>(rows.size());
        batch.tiles = static_cast<std::uint32_t>(tiles.size());
        batch.long_texts = static_cast<std::uint32_t>(long_texts.size());
        page_table.resize(specs.size() * text_pages);
        for (std::uint32_t i = 0; i < page_table.size(); ++i) {
            page_table[i] = (i * 7 + 3) % pages();
        }
        std::vector<std::uint32_t> prompt_pages(rows.size() / decoder::page_positions + 1, decoder::no_page);
        for (const Entry& entry : entries) {
            if (entry.first_position == 0 && has_page(entry.first_row, entry.rows)) {
                prompt_pages[entry.first_row / decoder::page_positions] = page_table[entry.slot * text_pages];
            }
        }
        prompt_pages_.set(bytes_in(prompt_pages));
        texts_.set(bytes_in(texts));
        entries_.set(bytes_in(entries));
        rows_.set(bytes_in(rows));
        for (const auto& [list, to] : {std::pair{&tiles, &tiles_}, {&long_texts, &long_texts_}}) {
            if (!list->empty()) {
                to->set(bytes_in(*list));
            }
        }
        batch_.set(std::as_bytes(std::span(&batch, 1)));
        page_table_.set(bytes_in(page_table));
    }

    /// Whether a prompt in these rows has a page among prompt_pages.
    [[nodiscard]] bool has_page(std::uint32_t first_row, std::uint32_t count) const {
        return attends_in_product_ && count == decoder::page_positions && first_row % decoder::page_positions == 0;
    }

    /// No multiple of 7, so that all pages differ.
    [[nodiscard]] std::uint32_t pages() const { return static_cast<std::uint32_t>(specs_.size()) * text_pages + 1; }

    [[nodiscard]] decoder::Memory memory() const {
        return {.batch = batch_.as<decoder::Batch>(),
                .texts = texts_.as<Text>(),
                .entries = entries_.as<Entry>(),
                .rows = rows_.as<Row>(),
                .tiles = tiles_.as<decoder::Tile>(),
                .long_texts = long_texts_.as<decoder::Tile>(),
                .page_table = page_table_.as<std::uint32_t>(),
                .slots = static_cast<std::uint32_t>(specs_.size()),
                .most_rows = 1024,
                .text_pages = text_pages,
                .long_prompt = long_prompt_,
                .prompt_pages = attends_in_product_ ? prompt_pages_.as<std::uint32_t>() : nullptr};
    }

    std::uint32_t text_pages;
    std::vector<Row> rows;
    std::vector<std::uint32_t> page_table;

private:
    static std::uint32_t pages_of_longest(const std::vector<Spec>& specs) {
        std::uint32_t pages = 12;
        for (const Spec& spec : specs) {
            pages = std::max(pages, (spec.first_position + spec.rows) / decoder::page_positions + 1);
        }
        while ((specs.size() * pages + 1) % 7 == 0) {
            ++pages;
        }
        return pages;
    }

    static constexpr std::size_t room = 1 << 20;
    std::vector<Spec> specs_;
    std::uint32_t long_prompt_;
    bool attends_in_product_;
    DeviceMemory batch_{sizeof(decoder::Batch)};
    DeviceMemory texts_{room};
    DeviceMemory entries_{room};
    DeviceMemory rows_{room};
    DeviceMemory tiles_{room};
    DeviceMemory long_texts_{room};
    DeviceMemory page_table_{room};
    DeviceMemory prompt_pages_{room};  // behind the pass's rows are pages, too
};

/// Prompts' attention in bf16 or fp16: of long ones, too, if there are any.
inline void enqueue_prompts(const Pass& pass, Precision precision, const decoder::Attention& attention,
                            const decoder::Cache& cache, std::uint32_t layer) {
    decoder::enqueue_prompt_attention(pass.memory(), precision, attention, cache, layer, nullptr);
    if (pass.memory().long_prompt != decoder::no_prompt_is_long) {
        const auto rows = static_cast<std::uint32_t>(pass.rows.size());
        decoder::LongPromptAttention(pass.memory(), precision, attention, rows, cache, layer + 1)
            .enqueue(layer, nullptr);
    }
}

/// Of rows of `row` values that a product of the decoder takes.
inline std::vector<float> floats_for_product(Precision precision, const DeviceMemory& memory, std::size_t row) {
    return precision == Precision::tf32x3   ? decode_half_parts(memory.content(), row)
           : precision == Precision::fp16x2 ? decode_code_rows(memory.content(), row)
                                            : floats_in(precision, memory);
}

inline std::vector<decoder::ScoreSum> sums_in(const DeviceMemory& memory) {
    const std::vector<std::byte> bytes = memory.content();
    std::vector<decoder::ScoreSum> sums(bytes.size() / sizeof(decoder::ScoreSum));
    std::memcpy(sums.data(), bytes.data(), bytes.size());
    return sums;
}

/// What a product for draws leaves of its rows, besides scores if there is an `out`, of an even number of columns, or
/// plain sums; NaN where it writes nothing, behind the active ones.
inline std::vector<decoder::ScoreSum> sums_of_product(const decoder::FloatProductShape& shape, Precision precision,
                                                      const DeviceMemory& a, const DeviceMemory& b,
                                                      std::uint32_t active, MatrixInstructions way,
                                                      float* out = nullptr, float* plain_sums = nullptr) {
    const DeviceMemory on_device(std::size_t{shape.rows} * decoder::groups_of(shape.columns) *
                                 sizeof(decoder::ScoreSum));
    const DeviceMemory count(std::as_bytes(std::span(&active, 1)));
    decoder::FloatProduct(shape, precision,
                          {.a = a.as(),
                           .b = b.as(),
                           .bias = nullptr,
                           .residual = nullptr,
                           .out = out,
                           .stride = out == nullptr ? 0 : shape.columns,
                           .score_sums = on_device.as<decoder::ScoreSum>(),
                           .plain_sums = plain_sums,
                           .active = count.as<std::uint32_t>()},
                          way)
        .enqueue(nullptr);
    return sums_in(on_device);
}

}  // namespace sluice::test

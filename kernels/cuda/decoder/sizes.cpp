#include "kernels/cuda/decoder/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "kernels/cuda/decoder/attention/cache.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/ordered/product.hpp"
#include "kernels/generator.hpp"

namespace sluice::decoder {
namespace {

/// How many texts and rows gain something; and how many gain most of it, more than which may take a small share of the
/// memory only.
struct UsefulSizes {
    std::uint32_t most_slots;
    std::uint32_t slots;
    std::uint32_t most_rows;
    std::uint32_t rows;
};

/// The larger a pass, the less of it goes by at the ends of its kernels. Tiles of so many rows fill an H200's 132
/// multiprocessors a whole number of times: they are of 128 rows, in fp32 of 96, with 128 columns, three to a
/// multiprocessor.
UsefulSizes useful_sizes(Precision precision) {
    return precision == Precision::fp32
               ? UsefulSizes{.most_slots = 12672, .slots = 12672, .most_rows = 25344, .rows = 25344}
               : UsefulSizes{.most_slots = 33792, .slots = 8448, .most_rows = 135168, .rows = 16896};
}

constexpr std::uint64_t small_share = 16;
constexpr std::uint64_t prefix_share = 64;                      // of the memory, at most, to find prefixes
constexpr std::uint64_t most_values = std::uint64_t{1} << 31U;  // of a tensor: some kernels count them in 32 bits

constexpr std::uint32_t least_slots = 32;

std::uint32_t pages_of(std::uint32_t positions) {
    return (positions + page_positions - 1) / page_positions;
}

/// Keys and values of a prompt that attends to all of itself depend on what follows, and rounded ones are not those
/// that the prompt's other rows attend to.
std::uint32_t pages_to_share(const DecoderShape& shape, const TokenSampling& sampling) {
    const bool can_share = shape.mask == AttentionMask::causal && sampling.kv_cache == KvCache::as_computed;
    return can_share ? (sampling.max_prompt - 1) / page_positions : 0;
}

Sizes sizes_for(const TokenSampling& sampling, std::uint32_t slots, std::uint64_t rows) {
    const std::uint32_t longest_text = sampling.max_prompt + sampling.max_new - 1;  // the last token is never read
    const std::uint64_t least = std::max(slots, longest_text);
    const std::uint32_t longest = pages_of(longest_text);
    return {.slots = slots,
            .rows = rounded_up(static_cast<std::uint32_t>(std::max(rows, least)), row_multiple),
            .text_pages = longest,
            .pages = longest};
}

std::uint32_t choice_bytes(std::uint32_t vocabulary, KeptScores kept, bool has_penalty) {
    switch (kept) {
        case KeptScores::bests:
            return 0;
        case KeptScores::sums:
            return draw_block_bytes(vocabulary);
        case KeptScores::all:
            break;
    }
    return choose_block_bytes(has_penalty, vocabulary);
}

/// Of what a pass keeps of each row.
std::uint64_t row_bytes(const DecoderShape& shape, Precision precision, MatrixInstructions instructions) {
    const Strides strides = strides_of(shape, precision);
    const std::uint64_t value = number_bytes(values_in(precision));
    const std::uint32_t expanded = activates_in_product(shape, precision, instructions) ? 0 : strides.expanded;
    return value * (std::uint64_t{strides.width} + strides.queries + strides.mixed + expanded) +
           inner_value_bytes(shape, precision) * strides.inner +
           (is_narrow(precision) ? row_sums_bytes(shape, precision) : value * strides.width) +
           code_bytes(shape, precision) + sizeof(Row);
}

/// Of what is kept of each slot, besides its pages.
std::uint64_t slot_bytes(std::uint32_t text_pages, const DecoderShape& shape, const TokenSampling& sampling,
                         Precision precision) {
    const std::uint64_t row = number_bytes(values_in(precision)) * std::uint64_t{strides_of(shape, precision).width};
    return sizeof(Text) + sizeof(Entry) + 2 * sizeof(Tile) + (2 + text_pages) * sizeof(std::uint32_t) +
           kept_score_bytes(shape, sampling, precision) + score_sum_bytes(shape, sampling, precision) +
           (is_narrow(precision) ? 2 * row : row);
}

/// `most`, halved until so many of `bytes` take a small share of the memory and have no more `values` than kernels
/// count; but at least `least`, or `most`.
std::uint32_t within_share(std::uint32_t most, std::uint32_t least, std::uint64_t bytes, std::uint64_t values,
                           std::uint64_t device_bytes) {
    while (most > least && (most * bytes > device_bytes / small_share || most * values > most_values)) {
        most = std::max(most / 2, least);
    }
    return most;
}

/// With its places in the lists of free and of shared pages.
std::uint64_t listed_page_bytes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision) {
    return page_bytes(shape, sampling, precision) + 2 * sizeof(std::uint32_t);
}

/// Of what finds the prefixes that the prompts of so many items share.
std::uint64_t prefix_bytes(std::uint64_t items, std::uint32_t prompt_pages) {
    return prefix_nodes(items, prompt_pages) * sizeof(PrefixNode) +
           items * (sizeof(PrefixPath) + (prompt_pages + std::uint64_t{1}) * sizeof(std::uint32_t));
}

/// Prefixes for as many items as take a small share of the memory.
void add_prefixes(Sizes& sizes, const DecoderShape& shape, const TokenSampling& sampling, std::uint32_t most_items,
                  std::uint64_t device_bytes) {
    const std::uint32_t pages = pages_to_share(shape, sampling);
    const std::uint64_t most = device_bytes / prefix_share / prefix_bytes(2, pages) * 2;  // a node and a half a page
    sizes.items = pages == 0 ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(most_items, most));
    sizes.prompt_pages = sizes.items == 0 ? 0 : pages;
}

}  // namespace

std::uint64_t page_bytes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision) {
    const std::uint64_t position =
        sampling.kv_cache == KvCache::as_computed
            ? shape.key_width() * std::uint64_t{number_bytes(values_in(precision))}
            : shape.key_width() + std::uint64_t{shape.heads_of_keys()} * scale_bytes(sampling.kv_cache);
    return 2 * page_positions * shape.layers * position;
}

void check_choice(std::uint32_t vocabulary, const TokenSampling& sampling, Precision precision,
                  std::uint32_t block_shared_bytes, std::string_view device) {
    constexpr double kibibyte = 1024;
    const bool has_penalty = sampling.repetition_penalty != 1;
    const std::uint32_t bytes = choice_bytes(vocabulary, kept_scores(precision, sampling), has_penalty);
    if (bytes <= block_shared_bytes) {
        return;
    }
    TokenSampling without = sampling;
    without.repetition_penalty = 1;
    const bool is_the_penalty = choice_bytes(vocabulary, kept_scores(precision, without), false) <= block_shared_bytes;
    throw Error(ExitCode::unavailable,
                {.id = "E-GPU-069",
                 .where = std::string(device),
                 .what = fmt::format("choosing among {} tokens{} takes {:.1f} KiB of shared memory in a block, which "
                                     "has {:.1f} KiB at most on this GPU",
                                     vocabulary, has_penalty ? " with generate.repetition_penalty" : "",
                                     bytes / kibibyte, block_shared_bytes / kibibyte),
                 .hint = fmt::format("{}set run.device = \"host\", or take a GPU that has more",
                                     is_the_penalty ? "leave generate.repetition_penalty out, " : "")});
}

std::uint64_t row_sums_bytes(const DecoderShape& shape, Precision precision) {
    const bool has_sums = is_narrow(precision) && precision != Precision::fp8;
    return has_sums ? (shape.width + summed_values - 1) / summed_values * sizeof(RowSums) : 0;
}

Strides strides_of(const DecoderShape& shape, Precision precision) {
    constexpr std::uint32_t tensor_multiple = 8;
    const bool padded = precision == Precision::fp32;
    const auto stride = [&](std::uint32_t values) {
        return padded ? rounded_up(values, ordered::product_columns) : values;
    };
    return {.width = stride(shape.width),
            .queries = stride(shape.attention_width()),
            .mixed = stride(shape.query_width()),
            .expanded = activates_in_product(shape) ? 0 : stride(shape.expanded_width()),
            .inner = stride(shape.inner),
            .vocabulary = rounded_up(shape.vocabulary, padded ? ordered::product_columns : tensor_multiple)};
}

std::uint64_t kept_score_bytes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision) {
    switch (kept_scores(precision, sampling)) {
        case KeptScores::bests:
            return most_best_tiles(shape.vocabulary) * sizeof(TileBest);
        case KeptScores::sums:
            return groups_of(shape.vocabulary) * sizeof(ScoreSum);
        case KeptScores::all:
            break;
    }
    return strides_of(shape, precision).vocabulary * std::uint64_t{sizeof(float)};
}

std::uint64_t score_sum_bytes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision) {
    const std::uint64_t groups = groups_of(shape.vocabulary);
    switch (kept_scores(precision, sampling)) {
        case KeptScores::bests:
            return sampling.log_probabilities ? groups * sizeof(ScoreSum) : 0;
        case KeptScores::sums:
            return sampling.log_probabilities && sampling.temperature != 1 ? groups * sizeof(float) : 0;
        case KeptScores::all:
            break;
    }
    return precision == Precision::fp32 ? 0 : groups * sizeof(ScoreSum);
}

std::uint64_t bytes_of(const Sizes& sizes, const DecoderShape& shape, const TokenSampling& sampling,
                       Precision precision, MatrixInstructions instructions) {
    const std::uint64_t no_bias =
        is_narrow(precision) ? 0 : strides_of(shape, precision).vocabulary * std::uint64_t{sizeof(float)};
    return no_bias + sizes.rows * row_bytes(shape, precision, instructions) +
           sizes.rows / tile_queries * (sizeof(Tile) + sizeof(std::uint32_t)) +
           rounded_up(sizes.slots, row_multiple) * slot_bytes(sizes.text_pages, shape, sampling, precision) +
           sizes.pages * listed_page_bytes(shape, sampling, precision) + prefix_bytes(sizes.items, sizes.prompt_pages) +
           sizeof(Batch);
}

Sizes least_sizes(const TokenSampling& sampling, std::uint32_t most_items) {
    return sizes_for(sampling, std::clamp(most_items, most_checked, least_slots), 0);
}

Sizes choose_sizes(const DecoderShape& shape, const TokenSampling& sampling, Precision precision,
                   MatrixInstructions instructions, std::uint32_t most_items, std::uint64_t device_bytes) {
    const Sizes least = least_sizes(sampling, most_items);
    const UsefulSizes useful = useful_sizes(precision);
    const Strides strides = strides_of(shape, precision);
    std::uint32_t slots = within_share(std::clamp(most_items, most_checked, useful.most_slots), useful.slots,
                                       slot_bytes(least.text_pages, shape, sampling, precision),
                                       kept_score_bytes(shape, sampling, precision) / sizeof(float), device_bytes);
    std::uint64_t rows =
        within_share(useful.most_rows, useful.rows, row_bytes(shape, precision, instructions),
                     std::max({strides.width, strides.queries, strides.expanded, strides.inner}), device_bytes);
    rows = std::min(rows, std::uint64_t{slots} * sampling.max_prompt);
    while (true) {
        const bool is_least = slots == least.slots && rows == 0;
        Sizes sizes = sizes_for(sampling, slots, rows);
        if (!is_least) {
            add_prefixes(sizes, shape, sampling, most_items, device_bytes);
        }
        const std::uint64_t wanted = std::uint64_t{std::min(slots, std::max(most_items, 1U))} * sizes.text_pages;
        sizes.pages = 0;
        const std::uint64_t fixed = bytes_of(sizes, shape, sampling, precision, instructions);
        const std::uint64_t room =
            device_bytes > fixed ? (device_bytes - fixed) / listed_page_bytes(shape, sampling, precision) : 0;
        sizes.pages = static_cast<std::uint32_t>(std::min(room, wanted));
        if (sizes.pages >= std::max<std::uint64_t>(is_least ? 1 : wanted / 4, sizes.text_pages)) {
            return sizes;
        }
        expects(!is_least, "decoder: less memory than it takes at least");
        if (slots > useful.slots) {
            slots = std::max(slots / 2, useful.slots);
        } else {
            rows = slots == least.slots ? 0 : rows / 2;
            slots = std::max(slots / 2, least.slots);
        }
    }
}

}  // namespace sluice::decoder

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/chunk.hpp"
#include "kernels/cuda/decoder/plan/shared_prefixes.hpp"
#include "kernels/text_counts.hpp"
#include "kernels/text_doubt.hpp"
#include "kernels/token_sampling.hpp"

/// Shared by a CUDA decoder's kernels. A chunk's texts are in slots. For every pass a plan made on the device selects
/// the rows that go through the decoder: prompts of new texts, as many as fit, then the last token of others. A slot
/// whose text is complete takes another item. What several prompts begin with comes first, in passes of its own.
namespace sluice::decoder {

inline constexpr std::uint32_t page_positions = 16;  ///< Positions of a text in a page of the cache.
inline constexpr std::uint32_t tile_queries = 16;    ///< Queries of a prompt in a tile, which a warp computes.
inline constexpr std::uint32_t no_prompt_is_long = UINT32_MAX;  ///< See Memory::long_prompt.
inline constexpr std::uint32_t no_page = UINT32_MAX;            ///< See Memory::prompt_pages.
inline constexpr std::uint32_t no_tile = UINT32_MAX;            ///< See Entry::first_tile.
inline constexpr std::uint32_t attended_rows = 128;             ///< Of a tile of a product that attends.
inline constexpr std::uint32_t check_of_prefix = UINT32_MAX;    ///< See Text::check.
inline constexpr std::uint32_t most_checked = 16;  ///< A draft with more doubtful choices is refuted; a warp has more.

/// Passes of few rows have products of their own, but for the head's, in tiles that suit so many rows: a pass has one
/// of these sizes.
inline constexpr std::uint32_t pass_sizes = 3;

[[nodiscard]] __host__ __device__ constexpr std::uint32_t most_rows_of_size(std::uint32_t size) {
    return size == 0 ? 256 : size == 1 ? 2048 : UINT32_MAX;
}
[[nodiscard]] __host__ __device__ constexpr std::uint32_t pass_size_of(std::uint32_t rows) {
    std::uint32_t size = 0;
    while (rows > most_rows_of_size(size)) {
        ++size;
    }
    return size;
}

/// TokenSampling for kernels.
struct Rule {
    std::uint64_t seed;
    std::uint32_t max_prompt;
    std::uint32_t max_new;
    float repetition_penalty;
    float temperature;
    std::uint32_t top_k;  ///< 0: all.
    float top_p;
    EndTokens end;
    bool log_probabilities;
    IoShape io;
};

[[nodiscard]] Rule rule_of(const TokenSampling& sampling);

/// A text in its slot; the rest of its state is in its item and its result.
struct Text {
    std::uint64_t number = 0;
    std::uint32_t item = 0;
    std::uint32_t prompt = 0;  ///< Tokens.
    std::uint32_t made = 0;    ///< Tokens.
    std::uint32_t last = 0;    ///< The next input, once a token was chosen.
    std::uint32_t pages =
        0;  ///< Of the cache; 0: the slot is empty, or of a prefix or a draft's further check in this pass.
    std::uint32_t shared = 0;     ///< The first of them, which belong to prefixes.
    std::uint32_t nonfinite = 0;  ///< See ContinuationStart.
    std::uint32_t complete = 0;
    /// Which of a draft's checked choices the slot is for, from 1 on, or check_of_prefix; 0: a text is written.
    std::uint32_t check = 0;
    float log_probability = 0;  ///< Of `last`, in a check.
    TextDoubt doubt{};          ///< So far; in a check, of its choice.
};

/// A text's rows in a pass: the last one wants scores.
struct Entry {
    std::uint32_t slot = 0;
    std::uint32_t first_row = 0;
    std::uint32_t rows = 0;
    std::uint32_t first_position = 0;
    /// Of a prompt; of a long one, its place among the long texts; no_tile: a product attends to it.
    std::uint32_t first_tile = 0;
    std::uint32_t is_long = 0;  ///< Of a prompt.

    [[nodiscard]] __host__ __device__ std::uint32_t last_row() const { return first_row + rows - 1; }
    [[nodiscard]] __host__ __device__ std::uint32_t last_position() const { return first_position + rows - 1; }
};

struct Row {
    std::uint32_t slot;
    std::uint32_t position;
    std::uint32_t token;
};

/// Queries of a prompt, whose keys and values are rows of this pass, and those of the cache before.
struct Tile {
    std::uint32_t slot;
    std::uint32_t first_row;  ///< Of the prompt.
    std::uint32_t rows;       ///< Of the prompt.
    std::uint32_t query;      ///< The first query, counted from the prompt's first row.
    std::uint32_t past;       ///< Positions of the text before its first row: whole pages, which are in the cache.
};

struct Batch {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    TextDoubt* doubts = nullptr;     ///< (items); null: not wanted.
    ChoiceDoubt* choices = nullptr;  ///< (items, max_new); null: not wanted.
    std::uint32_t items = 0;
    std::uint32_t next = 0;            ///< The first item that no slot has taken.
    std::uint32_t prefixes = 0;        ///< Of the chunk.
    std::uint32_t next_prefix = 0;     ///< The first that no pass has computed.
    std::uint32_t shared_pages = 0;    ///< Of the cache, which they have.
    std::uint64_t prompt_rows = 0;     ///< Of a chunk's prompts, as far as these may share prefixes.
    std::uint64_t saved_rows = 0;      ///< Of those, by sharing.
    std::uint32_t beginning = 0;       ///< Entries of new texts; these come first.
    std::uint32_t continued = 0;       ///< Entries of other texts, after those.
    std::uint32_t entries = 0;         ///< Both.
    std::uint32_t beginning_rows = 0;  ///< Rows of new texts; these come first.
    std::uint32_t rows = 0;
    std::uint32_t tiles = 0;
    std::uint32_t long_texts = 0;    ///< New texts whose prompts are long.
    std::uint32_t longest_text = 0;  ///< Rows of the longest of their prompts.
    std::uint32_t long_taken = 0;    ///< Tiles of theirs that a kernel at work has taken; 0 between kernels.
    std::uint32_t free_pages = 0;
    std::uint32_t turn = 0;                       ///< Index in Memory::continuing at which the next pass begins.
    std::uint32_t more = 0;                       ///< Whether there is a pass to run.
    std::uint32_t more_of_size[pass_sizes] = {};  ///< The same for each size.
    TextCounts counts{};
    std::uint64_t checked = 0;    ///< Drafts, in all chunks.
    std::uint64_t corrected = 0;  ///< Of those.

    /// Whether the planned pass has rows.
    __device__ void set_more() {
        more = rows != 0 ? 1 : 0;
        for (std::uint32_t size = 0; size < pass_sizes; ++size) {
            more_of_size[size] = rows != 0 && size == pass_size_of(rows) ? 1 : 0;
        }
    }
    [[nodiscard]] __host__ __device__ bool wants_doubts() const { return doubts != nullptr || choices != nullptr; }
};

/// Device memory of plans.
struct Memory {
    Batch* batch = nullptr;
    Text* texts = nullptr;                ///< (slots)
    Entry* entries = nullptr;             ///< (slots)
    Row* rows = nullptr;                  ///< (rows)
    Tile* tiles = nullptr;                ///< (tiles)
    Tile* long_texts = nullptr;           ///< (long texts): their first tiles.
    std::uint32_t* continuing = nullptr;  ///< (slots): those whose texts continue.
    std::uint32_t* free_slots = nullptr;  ///< (slots)
    std::uint32_t* page_table = nullptr;  ///< (slots, text_pages)
    std::uint32_t* free_pages = nullptr;  ///< (pages): the first Batch::free_pages are free.
    std::uint32_t slots = 0;              ///< At least most_checked.
    std::uint32_t most_rows = 0;          ///< Of a pass; at least `slots`, and at least the longest text's tokens.
    std::uint32_t text_pages = 0;         ///< Of the longest text.
    /// Prompts of at least so many tokens are long, but for checks: they have no tiles, and are listed apart.
    std::uint32_t long_prompt = no_prompt_is_long;
    /// (rows / page_positions, rounded up): where so many rows, from a multiple of that on, are one prompt that the
    /// product of its queries attends to, its page of the cache, and else no_page. Null: no product attends.
    std::uint32_t* prompt_pages = nullptr;
    SharedPrefixes shared{};
};

/// A chunk's memory; the rest as in Batch.
struct Chunk {
    const std::byte* in;
    std::byte* out;
    TextDoubt* doubts = nullptr;
    ChoiceDoubt* choices = nullptr;
    std::uint32_t items;
    const std::uint32_t* active = nullptr;  ///< In device memory: number of active items; null: all.
};

/// Begins a chunk and plans its first pass.
void enqueue_begin(const Memory& memory, const Rule& rule, const Chunk& chunk, cudaStream_t stream);

/// Frees what complete texts held, and plans the next pass.
void enqueue_plan(const Memory& memory, const Rule& rule, cudaStream_t stream);

/// Traps if a text is not complete: the caller's loop bounds the number of passes.
void enqueue_expect_done(const Memory& memory, cudaStream_t stream);

}  // namespace sluice::decoder

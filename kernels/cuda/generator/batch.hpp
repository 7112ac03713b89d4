#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/sampling.hpp"
#include "kernels/text_counts.hpp"
#include "kernels/text_doubt.hpp"

/// Shared by a CUDA generator's kernels: rows that step together. When a text ends, the next item begins in its row;
/// once there are no more items, the last rows move to where others have ended.
namespace sluice::generator {

inline constexpr std::uint32_t no_item = 0xFFFFFFFF;

/// The text that a row writes; the rest of its state is in its item and its result.
struct Row {
    double log_probability = 0;
    TextDoubt doubt{};
    std::uint32_t item = no_item;
    std::uint32_t length = 0;
};

/// A row to copy.
struct Move {
    std::uint32_t from;
    std::uint32_t to;
};

struct Batch {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    TextDoubt* doubts = nullptr;  ///< (items); null: not wanted.
    std::uint32_t items = 0;
    std::uint32_t next = 0;         ///< The first item that no row has taken; may exceed `items`.
    std::uint32_t active_rows = 0;  ///< Rows that write a text; these come first.
    std::uint32_t ended = 0;        ///< Of those, since the last compaction: complete rows that took no item.
    std::uint32_t moves = 0;
    std::uint32_t more = 0;  ///< Whether any row still writes a text.
    TextCounts counts{};
};

/// States of rows in all layers, (matrices, rows, row_bytes). In a precision of two parts, a layer's second matrix
/// follows its first.
struct StateRows {
    std::byte* data = nullptr;
    std::uint32_t matrices = 0;
    std::uint32_t rows = 0;
    std::uint32_t row_bytes = 0;  ///< A multiple of 16.

    [[nodiscard]] __host__ __device__ std::byte* at(std::uint32_t matrix, std::uint32_t row) const {
        return data + (std::size_t{matrix} * rows + row) * row_bytes;
    }
    [[nodiscard]] __host__ __device__ std::size_t bytes() const { return std::size_t{matrices} * rows * row_bytes; }
};

/// Distribution of the byte after a prefix.
struct Distribution {
    double log_sum;      ///< ln of the sum of e^(score - best score).
    std::uint32_t best;  ///< The largest score's byte, the first among equals.
    std::uint32_t last;  ///< The last byte that may be chosen.
    float gap;           ///< TextDoubt::gap of a draw.
    float scores[gru_symbols];
    float sums[gru_symbols];  ///< p[0] + ... + p[i]
};

/// All prefixes of one length: number 256 p + b is number p of the next shorter ones, then byte b.
struct PrefixTable {
    const Distribution* distributions = nullptr;  ///< (prefixes)
    StateRows states{};                           ///< (prefixes) rows; only of the longest prefixes.
};

inline constexpr std::uint32_t most_prefix_tables = 3;

/// Device memory that all kernels of a generator use.
struct Memory {
    Batch* batch = nullptr;
    Row* rows = nullptr;              ///< (most rows)
    std::uint8_t* symbols = nullptr;  ///< (most rows): the next input.
    float* scores = nullptr;          ///< (most rows, 256)
    Move* moves = nullptr;            ///< (most rows)
    PrefixTable prefixes[most_prefix_tables] = {};
    std::uint32_t prefix_tables = 0;  ///< For prefixes of 0, 1, ... bytes.
    std::uint32_t most_rows = 0;      ///< A multiple of 32.
};

/// Begins a chunk of `items` items, or of only the first `*active`. The first rows take the first items.
void enqueue_begin(const Memory& memory, const Sampling& sampling, const StateRows& states, const std::byte* in,
                   std::byte* out, TextDoubt* doubts, std::uint32_t items, const std::uint32_t* active,
                   cudaStream_t stream);

/// Chooses a byte in each active row, by its scores; rows whose text is complete take another item. Their states, until
/// then the last step's results, become those of the item's prefix.
void enqueue_draw(const Memory& memory, const Sampling& sampling, const StateRows& states, cudaStream_t stream);

/// Moves rows to where others have ended, so that active rows are the first again.
void enqueue_compaction(const Memory& memory, const StateRows& states, cudaStream_t stream);

/// Traps if a text is not complete: the caller's loop bounds the number of steps.
void enqueue_expect_done(const Memory& memory, cudaStream_t stream);

/// Computes the distributions of `rows` rows of scores.
void enqueue_distributions(const Sampling& sampling, const float* scores, std::uint32_t rows, Distribution* out,
                           cudaStream_t stream);

/// Before a step that extends prefixes by a byte: sets the first `rows` rows to prefixes first, first + 1, ..., one
/// byte longer than those of `parents`: their parents' states, and the byte as the next input.
void enqueue_extend_prefixes(const Memory& memory, const StateRows& parents, const StateRows& states,
                             std::uint32_t first, std::uint32_t rows, cudaStream_t stream);

/// Sets the number of active rows, for steps of rows without texts.
void enqueue_active_rows(const Memory& memory, std::uint32_t rows, cudaStream_t stream);

}  // namespace sluice::generator

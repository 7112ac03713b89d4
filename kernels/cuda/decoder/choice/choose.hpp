#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/precision.hpp"

/// Chooses the next token of each entry, and updates the entry's text.
namespace sluice::decoder {

/// The largest of some of a row's scores, the first among equals, and the largest of the others.
struct TileBest {
    float score;
    std::uint32_t place;  ///< The token; with nonfinite_mark if any of the scores is NaN or infinite.
    float second;         ///< Minus infinity if there is none; unspecified with nonfinite_mark.
};
inline constexpr std::uint32_t nonfinite_mark = 0x80000000;

inline constexpr float weightless = -3.40282347e38F;  ///< A score that is finite and weighs nothing beside others.

/// The tokens of a vocabulary in groups of `group_tokens`; the last one may have fewer.
inline constexpr std::uint32_t group_tokens = 64;

[[nodiscard]] constexpr std::uint32_t groups_of(std::uint32_t vocabulary) {
    return (vocabulary + group_tokens - 1) / group_tokens;
}

/// Of a row's scores of a group.
struct ScoreSum {
    float largest;  ///< Score.
    float sum;      ///< Of e^((score - largest) / temperature). NaN if any of the scores is NaN or infinite.
};

/// Scores of rows, in device memory.
struct ScoredRows {
    const float* scores;   ///< (entries, stride)
    const ScoreSum* sums;  ///< (entries, groups_of(vocabulary)), at temperature_of_sums(). Null: not known.
    std::uint32_t vocabulary;
    std::uint32_t stride;
};

/// Largest scores of rows, in device memory.
struct BestRows {
    const TileBest* bests;  ///< (entries, tiles), tiles in the order of their tokens.
    std::uint32_t tiles;
    /// (entries, groups_of(vocabulary)), at a temperature of 1, to which scores of minus infinity add nothing. For
    /// log-probabilities; else null.
    const ScoreSum* sums;
    std::uint32_t vocabulary;
};

/// Sums of scores of rows, in device memory.
struct SummedRows {
    const ScoreSum* sums;     ///< (entries, groups_of(vocabulary)), at the temperature of the draw.
    const float* plain_sums;  ///< Likewise, at 1: for log-probabilities at other temperatures; else null.
};

/// Operands of the head's product.
struct HeadOperands {
    const void* rows;     ///< (entries, depth)
    const void* weights;  ///< (vocabulary, depth)
    std::uint32_t vocabulary;
    std::uint32_t depth;  ///< A multiple of 8.
};

/// Temperature of the ScoreSums beside all scores or bests: 1 for log-probabilities, that of a draw by `top_p` alone,
/// and infinite where only the largest scores are of use.
[[nodiscard]] __host__ __device__ constexpr float temperature_of_sums(const Rule& rule) {
    if (rule.log_probabilities) {
        return 1;
    }
    const bool draws_by_share = rule.temperature != 0 && rule.top_k == 0;
    return draws_by_share ? rule.temperature : std::numeric_limits<float>::infinity();
}

/// Shared memory that a block of enqueue_choose() takes, in bytes; a penalty marks each token that a text has.
[[nodiscard]] std::uint32_t choose_block_bytes(bool has_penalty, std::uint32_t vocabulary);

/// By all scores, as the host does. With sums, a draw by `top_p` alone differs where its sum of probabilities is as
/// close to another token as sums in fp32 are off.
void enqueue_choose(const Memory& memory, const Rule& rule, const ScoredRows& rows, cudaStream_t stream);

/// By the largest score.
void enqueue_take_best(const Memory& memory, const Rule& rule, const BestRows& rows, cudaStream_t stream);

/// Shared memory that a block of enqueue_draw() takes, in bytes.
[[nodiscard]] std::uint32_t draw_block_bytes(std::uint32_t vocabulary);

/// Draws a token by sums: first one of them, then one of its tokens, whose scores are computed again. `precision` is
/// that of the head, other than fp32. Differs from the host where the random number is as close to a sum of
/// probabilities as sums in fp32 are off, and gives a row with a score that is NaN or infinite token 0.
void enqueue_draw(const Memory& memory, const Rule& rule, Precision precision, const SummedRows& rows,
                  const HeadOperands& head, cudaStream_t stream);

/// What is kept of a row's scores.
enum class KeptScores : std::uint8_t {
    all,
    bests,  ///< TileBest; for log-probabilities also ScoreSum.
    sums,   ///< ScoreSum; for log-probabilities at other temperatures than 1 also plain sums.
};

}  // namespace sluice::decoder

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/precision.hpp"

/// Chooses the next token of each entry, and updates the entry's text.
namespace sluice::decoder {

/// The largest of some of a row's scores, the first among equals, and the largest of the others.
struct TileBest {
    float score;
    std::uint32_t place;  ///< The token; with nonfinite_mark if any of the scores is NaN or infinite.
    float second;         ///< Minus infinity if there is none; unspecified with nonfinite_mark.
};
inline constexpr std::uint32_t nonfinite_mark = 0x80000000;

/// Of `score_sum_tokens` tokens of a row, the first of them a multiple of that.
struct ScoreSum {
    float largest;  ///< Score.
    float sum;      ///< Of e^((score - largest) / temperature). NaN if any of the scores is NaN or infinite.
};
inline constexpr std::uint32_t score_sum_tokens = 64;

[[nodiscard]] constexpr std::uint32_t score_sums_of(std::uint32_t vocabulary) {
    return (vocabulary + score_sum_tokens - 1) / score_sum_tokens;
}

/// Operands of the head's product.
struct HeadOperands {
    const void* rows;     ///< (entries, depth)
    const void* weights;  ///< (vocabulary, depth)
    std::uint32_t vocabulary;
    std::uint32_t depth;  ///< A multiple of 8.
};

/// By all scores, (entries, stride), as the host does.
void enqueue_choose(const Memory& memory, const Rule& rule, const float* scores, std::uint32_t vocabulary,
                    std::uint32_t stride, cudaStream_t stream);

/// By the largest score; bests: (entries, tiles), tiles in the order of their tokens.
void enqueue_take_best(const Memory& memory, const Rule& rule, const TileBest* bests, std::uint32_t tiles,
                       cudaStream_t stream);

/// Draws a token by `sums`, (entries, score_sums_of(vocabulary)): first one of them, then one of its tokens, whose
/// scores are computed again. `precision` is that of the head, other than fp32. Differs from the host where the random
/// number is as close to a sum of probabilities as sums in fp32 are off, and gives a row with a score that is NaN or
/// infinite token 0.
void enqueue_draw(const Memory& memory, const Rule& rule, Precision precision, const ScoreSum* sums,
                  const HeadOperands& head, cudaStream_t stream);

/// What is kept of a row's scores.
enum class KeptScores : std::uint8_t {
    all,
    bests,  ///< TileBest
    sums,   ///< ScoreSum
};

}  // namespace sluice::decoder

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"

/// Chooses the next token of each entry, as the host does, and updates the entry's text.
namespace sluice::decoder {

/// The largest of some of a row's scores, the first among equals, and the largest of the others.
struct TileBest {
    float score;
    std::uint32_t place;  ///< The token; with nonfinite_mark if any of the scores is NaN or infinite.
    float second;         ///< Minus infinity if there is none; unspecified with nonfinite_mark.
};
inline constexpr std::uint32_t nonfinite_mark = 0x80000000;

/// By all scores, (entries, stride).
void enqueue_choose(const Memory& memory, const Rule& rule, const float* scores, std::uint32_t vocabulary,
                    std::uint32_t stride, cudaStream_t stream);

/// By the largest score; bests: (entries, tiles), tiles in the order of their tokens.
void enqueue_take_best(const Memory& memory, const Rule& rule, const TileBest* bests, std::uint32_t tiles,
                       cudaStream_t stream);

/// Whether the tiles' largest scores are enough for the next token and its outputs.
[[nodiscard]] constexpr bool needs_bests_only(const TokenSampling& sampling) {
    return sampling.temperature == 0 && sampling.repetition_penalty == 1 && !sampling.log_probabilities;
}

}  // namespace sluice::decoder

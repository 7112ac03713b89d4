#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"

/// The next token of each entry, as the host chooses it, and what follows for the entry's text.
namespace sluice::decoder {

/// The largest of some of a row's scores, of equal ones the first, and the largest of the others.
struct TileBest {
    float score;
    std::uint32_t place;  ///< The token; with nonfinite_mark if a score that was looked at is a NaN or an infinity.
    float second;         ///< Minus infinity where there is none; open with nonfinite_mark.
};
inline constexpr std::uint32_t nonfinite_mark = 0x80000000;

/// By all scores: (entries, stride).
void enqueue_choose(const Memory& memory, const Rule& rule, const float* scores, std::uint32_t vocabulary,
                    std::uint32_t stride, cudaStream_t stream);

/// The largest score's token: (entries, tiles), the first tile that of the first tokens.
void enqueue_take_best(const Memory& memory, const Rule& rule, const TileBest* bests, std::uint32_t tiles,
                       cudaStream_t stream);

/// Whether the tiles' largest scores say which token comes next, and all that is told of it.
[[nodiscard]] constexpr bool needs_bests_only(const TokenSampling& sampling) {
    return sampling.temperature == 0 && sampling.repetition_penalty == 1 && !sampling.log_probabilities;
}

}  // namespace sluice::decoder

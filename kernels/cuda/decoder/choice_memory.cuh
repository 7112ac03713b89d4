#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/block.cuh"

/// What the threads of a block that looks at the scores of a row share.
namespace sluice::decoder {

constexpr std::uint32_t choice_threads = 256;
constexpr std::uint32_t choice_warps = choice_threads / warp_lanes;
constexpr std::uint32_t tile_weights = 1024;
constexpr std::uint32_t digits = 256;

/// A larger score first, of equal ones the first; a NaN only where nothing else is.
struct Best {
    float score = -INFINITY;
    std::uint32_t place = no_token;

    __device__ __forceinline__ void look_at(float other, std::uint32_t at) {
        if (other > score || (other == score && at < place)) {
            score = other;
            place = at;
        }
    }
};

/// Larger of a larger score, of equal ones of the first: their order is total, NaN included.
__device__ __forceinline__ std::uint64_t rank_of(float score, std::uint32_t place) {
    constexpr std::uint32_t sign = 1U << 31U;
    const std::uint32_t bits = __float_as_uint(score == 0 ? 0.0F : score);
    const std::uint32_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
    return (std::uint64_t{ordered} << 32U) | (0xFFFFFFFFU - place);
}

/// Shared memory of a block; `seen` is followed by a bit for each token of the vocabulary.
struct ChoiceMemory {
    alignas(16) float weights[2][tile_weights];
    unsigned long long sums[digits];  // of what has a digit
    double partial_sums[choice_warps];
    std::uint64_t prefix;
    std::uint64_t left;
    float best_scores[choice_warps];
    std::uint32_t best_places[choice_warps];
    float all;
    std::uint32_t chosen;
    std::uint32_t seen[1];
};

[[nodiscard]] constexpr std::uint32_t choice_shared_bytes(std::uint32_t vocabulary) {
    return static_cast<std::uint32_t>(sizeof(ChoiceMemory)) + (vocabulary + 31) / 32 * 4;
}

}  // namespace sluice::decoder

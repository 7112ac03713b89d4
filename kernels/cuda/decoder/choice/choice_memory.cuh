#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/best.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// Shared memory of a block that chooses by a row's scores.
namespace sluice::decoder {

constexpr std::uint32_t choice_threads = 256;
constexpr std::uint32_t choice_warps = choice_threads / warp_lanes;
constexpr std::uint32_t digits = 256;

/// Bounds of the kept and the dropped scores before and behind a token.
struct CutSides {
    float kept_before = INFINITY;  // minima
    float kept_behind = INFINITY;
    float dropped_before = -INFINITY;  // maxima
    float dropped_behind = -INFINITY;
    std::uint32_t kept = 0;  // ChoiceDoubt::kept

    __device__ __forceinline__ void look_at(float score, bool counts, std::uint32_t place, std::uint32_t token) {
        if (counts) {
            std::uint32_t mixed = (place + 1) * 0x9E3779B1U;
            mixed ^= mixed >> 15U;
            kept += mixed * 0x85EBCA77U;
            kept_before = place < token ? fminf(kept_before, score) : kept_before;
            kept_behind = place > token ? fminf(kept_behind, score) : kept_behind;
        } else {
            dropped_before = place < token ? fmaxf(dropped_before, score) : dropped_before;
            dropped_behind = place > token ? fmaxf(dropped_behind, score) : dropped_behind;
        }
    }

    __device__ __forceinline__ void join(const CutSides& others) {
        kept_before = fminf(kept_before, others.kept_before);
        kept_behind = fminf(kept_behind, others.kept_behind);
        dropped_before = fmaxf(dropped_before, others.dropped_before);
        dropped_behind = fmaxf(dropped_behind, others.dropped_behind);
        kept += others.kept;
    }

    [[nodiscard]] __device__ __forceinline__ CutSides of_lane(std::uint32_t apart) const {
        return {__shfl_xor_sync(every_lane, kept_before, apart), __shfl_xor_sync(every_lane, kept_behind, apart),
                __shfl_xor_sync(every_lane, dropped_before, apart), __shfl_xor_sync(every_lane, dropped_behind, apart),
                __shfl_xor_sync(every_lane, kept, apart)};
    }
};

/// Sums of weights in bins of scores, from the largest score down; two words each, for shared memory's native
/// additions.
struct ScoreBins {
    static constexpr std::uint32_t count = 2048;
    std::uint32_t low[count];
    std::uint32_t high[count];

    __device__ __forceinline__ void add(std::uint32_t bin, unsigned long long weight) {
        const auto low_word = static_cast<std::uint32_t>(weight);
        auto high_word = static_cast<std::uint32_t>(weight >> 32U);
        if (low_word != 0) {
            high_word += atomicAdd(&low[bin], low_word) + low_word < low_word ? 1 : 0;
        }
        if (high_word != 0) {
            atomicAdd(&high[bin], high_word);
        }
    }

    [[nodiscard]] __device__ __forceinline__ unsigned long long sum(std::uint32_t bin) const {
        return static_cast<unsigned long long>(high[bin]) << 32U | low[bin];
    }
};

/// Scores of some bins.
struct CollectedScores {
    static constexpr std::uint32_t most = 1024;
    std::uint64_t ranks[most];
    unsigned long long weights[most];
};

/// The token that was drawn.
struct Drawn {
    std::uint32_t token;
    unsigned long long weight;
    unsigned long long up_to;  ///< Sum of the kept weights up to it.
    unsigned long long all;    ///< Of all kept weights.
};

/// Shared memory of a block, followed by what depends on the vocabulary: for each group of tokens the sum of weights
/// and the largest score, and with a penalty a bit for each token.
struct ChoiceMemory {
    union {  // used in sequence
        ScoreBins bins;
        CollectedScores scores;
        unsigned long long digit_sums[digits];
    } cut;
    unsigned long long warp_sums[choice_warps];
    double partial_sums[choice_warps];
    std::uint64_t rank;
    unsigned long long wanted;
    float best_scores[choice_warps];
    std::uint32_t best_places[choice_warps];
    float second_scores[choice_warps];
    CutSides cut_sides[choice_warps];
    Drawn drawn;
    unsigned long long cut_distance;
    std::uint32_t crossed_bin;
    std::uint32_t collected;  // scores, also those for which there was no room

    [[nodiscard]] __device__ __forceinline__ unsigned long long* group_sums() {
        return reinterpret_cast<unsigned long long*>(this + 1);
    }
    [[nodiscard]] __device__ __forceinline__ float* group_bests(std::uint32_t vocabulary) {
        return reinterpret_cast<float*>(group_sums() + groups_of(vocabulary));
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t* seen(std::uint32_t vocabulary) {
        return reinterpret_cast<std::uint32_t*>(group_bests(vocabulary) + groups_of(vocabulary));
    }
};

}  // namespace sluice::decoder

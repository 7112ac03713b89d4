#pragma once

#include <cstdint>

#include "kernels/cuda/best.cuh"
#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/choice_memory.cuh"
#include "kernels/cuda/generator/arithmetic.cuh"
#include "kernels/token_sampling.hpp"

/// A block's access to the scores of a row.
namespace sluice::decoder {

class RowScores {
public:
    __device__ RowScores(const Rule& rule, const float* scores, std::uint32_t vocabulary, ChoiceMemory& memory)
        : rule_(rule),
          scores_(scores),
          vocabulary_(vocabulary),
          group_bests_(memory.group_bests(vocabulary)),
          seen_(memory.seen(vocabulary)) {}

    /// Marks the text's tokens, for the penalty.
    __device__ void mark(const std::uint32_t* prompt, std::uint32_t prompt_tokens, const std::uint32_t* made,
                         std::uint32_t made_tokens) {
        for (std::uint32_t i = threadIdx.x; i < (vocabulary_ + 31) / 32; i += choice_threads) {
            seen_[i] = 0;
        }
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < prompt_tokens + made_tokens; i += choice_threads) {
            const std::uint32_t token = i < prompt_tokens ? prompt[i] : made[i - prompt_tokens];
            atomicOr(&seen_[token / 32], 1U << token % 32);
        }
        __syncthreads();
    }

    [[nodiscard]] __device__ std::uint32_t vocabulary() const { return vocabulary_; }
    [[nodiscard]] __device__ std::uint32_t groups() const { return token_groups(vocabulary_); }

    /// The largest score of a group, after the penalty; minus infinity if all are NaN.
    [[nodiscard]] __device__ __forceinline__ float best_of(std::uint32_t group) const { return group_bests_[group]; }
    __device__ __forceinline__ void set_best_of(std::uint32_t group, float score) { group_bests_[group] = score; }

    /// The network's score.
    [[nodiscard]] __device__ __forceinline__ float raw(std::uint32_t token) const { return scores_[token]; }

    /// Penalised; a NaN counts as minus infinity.
    [[nodiscard]] __device__ __forceinline__ float penalised(float raw, std::uint32_t token) const {
        const float score = isnan(raw) ? -INFINITY : raw;
        if (rule_.repetition_penalty == 1 || (seen_[token / 32] >> token % 32 & 1) == 0) {
            return score;
        }
        return score > 0 ? __fdiv_rn(score, rule_.repetition_penalty) : __fmul_rn(score, rule_.repetition_penalty);
    }
    [[nodiscard]] __device__ __forceinline__ float operator[](std::uint32_t token) const {
        return penalised(scores_[token], token);
    }

    [[nodiscard]] __device__ static __forceinline__ std::uint64_t rank(float score, std::uint32_t token) {
        return rank_of(score, token, places);
    }
    [[nodiscard]] __device__ static __forceinline__ std::uint32_t token_of(std::uint64_t rank) {
        return places - static_cast<std::uint32_t>(rank);
    }

    /// Call before distance() and weight().
    __device__ void set_largest(float score) { largest_ = score; }

    /// Distance to the largest score, in units of the temperature.
    [[nodiscard]] __device__ __forceinline__ float distance(float score) const {
        return __fdiv_rn(__fadd_rn(score, -largest_), rule_.temperature);
    }

    /// Weight, rounded down; the largest score's is token_weight_unit.
    [[nodiscard]] __device__ __forceinline__ unsigned long long weight(float score) const {
        return __float2ull_rz(__fmul_rn(generator::exp_of(distance(score)), token_weight_unit));
    }

    /// Bin of ScoreBins; larger for smaller scores.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t bin_of(float score) const {
        constexpr float bins_per_unit = 64;  // a weight of 2^-40 is 27.7 units away
        return min(__float2uint_rz(-distance(score) * bins_per_unit), ScoreBins::count - 1);
    }

    /// False: the weights of this score and of lesser ones are 0.
    [[nodiscard]] __device__ __forceinline__ bool may_weigh(float score) const {
        constexpr float nearest = -28;  // e^-28 is less than 2^-40
        return distance(score) >= nearest;
    }

    /// False: this score and lesser ones rank below `least`, whatever their tokens.
    [[nodiscard]] __device__ __forceinline__ static bool may_reach(float score, std::uint64_t least) {
        return rank(score, 0) >= least;
    }

    /// Calls function(raw score, token) for the tokens first, first + step, ... below `end`.
    template <class Function>
    __device__ __forceinline__ void each_raw(std::uint32_t first, std::uint32_t step, std::uint32_t end,
                                             const Function& function) const {
        constexpr std::uint32_t together = 8;  // loads of a thread in flight
        for (; first < end; first += together * step) {
            float of[together];
#pragma unroll
            for (std::uint32_t j = 0; j < together; ++j) {
                const std::uint32_t token = first + j * step;
                of[j] = token < end ? scores_[token] : 0;
            }
#pragma unroll
            for (std::uint32_t j = 0; j < together; ++j) {
                const std::uint32_t token = first + j * step;
                if (token < end) {
                    function(of[j], token);
                }
            }
        }
    }

    /// Calls function(group) for the groups of this warp, in ascending order.
    template <class Function>
    __device__ __forceinline__ void each_group(const Function& function) const {
        for (std::uint32_t group = threadIdx.x / warp_lanes; group < groups(); group += choice_warps) {
            function(group);
        }
    }

    /// Calls function(raw score, token) for this lane's share of a group, in ascending order.
    template <class Function>
    __device__ __forceinline__ void each_raw_of(std::uint32_t group, const Function& function) const {
        const std::uint32_t begin = group * group_tokens;
        each_raw(begin + threadIdx.x % warp_lanes, warp_lanes, min(vocabulary_, begin + group_tokens), function);
    }

    /// The same for scores after the penalty.
    template <class Function>
    __device__ __forceinline__ void each_of(std::uint32_t group, const Function& function) const {
        each_raw_of(group, [&](float raw, std::uint32_t token) { function(penalised(raw, token), token); });
    }

    /// Calls function(score, token) for this thread's share of the groups for which wanted(largest score).
    template <class Wanted, class Function>
    __device__ __forceinline__ void each_wanted(const Wanted& wanted, const Function& function) const {
        each_group([&](std::uint32_t group) {
            if (wanted(group_bests_[group])) {
                each_of(group, function);
            }
        });
    }

private:
    static constexpr std::uint32_t places = 0xFFFFFFFF;

    const Rule& rule_;
    const float* scores_;
    std::uint32_t vocabulary_;
    float* group_bests_;   // in shared memory
    std::uint32_t* seen_;  // a bit for each token
    float largest_ = 0;
};

/// Collects the scores in bins `first` to `last`, with weigh(rank, score). Returns how many there are; if more than
/// `most`, which is at most CollectedScores::most, some number above it. Called by a block.
template <class Weigh>
__device__ std::uint32_t collect(const RowScores& scores, ChoiceMemory& memory, std::uint32_t first, std::uint32_t last,
                                 std::uint32_t most, const Weigh& weigh) {
    if (threadIdx.x == 0) {
        memory.collected = 0;
    }
    __syncthreads();
    CollectedScores& to = memory.cut.scores;
    const volatile std::uint32_t& collected = memory.collected;
    const auto may_be_there = [&](float best) { return collected <= most && scores.bin_of(best) <= last; };
    scores.each_wanted(may_be_there, [&](float score, std::uint32_t token) {
        const std::uint32_t bin = scores.bin_of(score);
        if (bin >= first && bin <= last) {
            const std::uint32_t at = atomicAdd(&memory.collected, 1U);
            if (at < most) {
                to.ranks[at] = RowScores::rank(score, token);
                to.weights[at] = weigh(to.ranks[at], score);
            }
        }
    });
    __syncthreads();
    const std::uint32_t count = memory.collected;
    __syncthreads();  // before others are collected
    return count;
}

/// Whether top_k leaves some tokens out.
[[nodiscard]] __device__ inline bool cuts_by_number(const Rule& rule, const RowScores& scores) {
    return rule.top_k != 0 && rule.top_k < scores.vocabulary();
}

/// What the weights of likely tokens have to add up to for top_p.
[[nodiscard]] __device__ inline unsigned long long share_of(float top_p, unsigned long long all) {
    return max(1ULL, __double2ull_rz(ceil(static_cast<double>(top_p) * static_cast<double>(all))));
}

}  // namespace sluice::decoder

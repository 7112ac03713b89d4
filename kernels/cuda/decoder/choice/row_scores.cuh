#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/choice/choice_memory.cuh"
#include "kernels/cuda/decoder/choice/cross.cuh"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/best.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// A block's access to the scores of a row.
namespace sluice::decoder {

class RowScores {
public:
    __device__ RowScores(const Rule& rule, const ScoredRows& rows, std::uint32_t row, ChoiceMemory& memory)
        : rule_(rule),
          scores_(rows.scores + std::size_t{row} * rows.stride),
          sums_(rows.sums == nullptr ? nullptr : rows.sums + std::size_t{row} * groups_of(rows.vocabulary)),
          vocabulary_(rows.vocabulary),
          group_bests_(memory.group_bests(rows.vocabulary)),
          seen_(memory.seen(rows.vocabulary)) {}

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
    [[nodiscard]] __device__ std::uint32_t groups() const { return groups_of(vocabulary_); }

    [[nodiscard]] __device__ bool has_sums() const { return sums_ != nullptr; }
    /// Of a group's scores from the network, if there are sums, at temperature_of_sums().
    [[nodiscard]] __device__ __forceinline__ const ScoreSum& sum_of(std::uint32_t group) const { return sums_[group]; }

    /// Whether a token of the group has been marked.
    [[nodiscard]] __device__ __forceinline__ bool has_marks(std::uint32_t group) const {
        constexpr std::uint32_t words = group_tokens / 32;
        std::uint32_t marks = 0;
        for (std::uint32_t i = group * words; i < min((group + 1) * words, (vocabulary_ + 31) / 32); ++i) {
            marks |= seen_[i];
        }
        return marks != 0;
    }

    /// The largest score of a group, after the penalty; minus infinity if all are NaN. TokenChoice::best() sets it.
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
    __device__ void set_best(float score) { best_ = score; }

    /// Distance to the largest score, in units of the temperature.
    [[nodiscard]] __device__ __forceinline__ float distance(float score) const {
        return __fdiv_rn(__fadd_rn(score, -best_), rule_.temperature);
    }

    /// Weight, rounded down; the largest score's is token_weight_unit.
    [[nodiscard]] __device__ __forceinline__ unsigned long long weight(float score) const {
        return weight_at(distance(score), 1);
    }

    /// Weight of a group by its sum, if that is of the draw's temperature and no score is penalised.
    [[nodiscard]] __device__ __forceinline__ unsigned long long weight_of(std::uint32_t group) const {
        return weight_at(distance(sums_[group].largest), sums_[group].sum);
    }

    /// Bin of ScoreBins; larger for smaller scores.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t bin_of(float score) const {
        return min(__float2uint_rz(-distance(score) * bins_per_unit), ScoreBins::count - 1);
    }

    /// How many groups have a score in bins up to `last`. Called by all threads of a block.
    [[nodiscard]] __device__ std::uint32_t groups_up_to(std::uint32_t last) const {
        std::uint32_t found = 0;
        for (std::uint32_t first = 0; first < groups(); first += choice_threads) {
            const std::uint32_t group = first + threadIdx.x;
            found += __syncthreads_count(group < groups() && bin_of(best_of(group)) <= last ? 1 : 0);
        }
        return found;
    }

    /// No score in bins up to `last` is less. Cheaper to compare with than bin_of().
    [[nodiscard]] __device__ __forceinline__ float floor_of(std::uint32_t last) const {
        if (last + 1 == ScoreBins::count) {
            return -INFINITY;
        }
        constexpr float error = 1e-6F;  // of distance() and of what is computed here, more than it is
        const float apart = static_cast<float>(last + 1) * (1 / bins_per_unit) * rule_.temperature;
        return best_ - apart - error * (apart + fabsf(best_));
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

    /// Calls function(raw score) for this thread's share of all tokens.
    template <class Function>
    __device__ __forceinline__ void each_raw(const Function& function) const {
        constexpr std::uint32_t together = 8;  // loads of a thread in flight
        for (std::uint32_t first = threadIdx.x; first < vocabulary_; first += together * choice_threads) {
            float of[together];
#pragma unroll
            for (std::uint32_t j = 0; j < together; ++j) {
                const std::uint32_t token = first + j * choice_threads;
                of[j] = token < vocabulary_ ? scores_[token] : 0;
            }
#pragma unroll
            for (std::uint32_t j = 0; j < together; ++j) {
                if (first + j * choice_threads < vocabulary_) {
                    function(of[j]);
                }
            }
        }
    }

    /// A lane's share of a group's scores, from the network.
    using Share = float[group_tokens / warp_lanes];

    /// Calls function(group, share) for the groups of this warp for which wanted(group), in ascending order.
    template <class Wanted, class Function>
    __device__ __forceinline__ void each_group(const Wanted& wanted, const Function& function) const {
        constexpr std::uint32_t together = 4;  // groups whose loads are in flight
        for (std::uint32_t first = threadIdx.x / warp_lanes; first < groups(); first += warp_lanes * choice_warps) {
            const std::uint32_t own = first + threadIdx.x % warp_lanes * choice_warps;
            std::uint32_t left = __ballot_sync(every_lane, own < groups() && wanted(own));
            while (left != 0) {
                std::uint32_t group[together];
                Share shares[together];
#pragma unroll
                for (std::uint32_t j = 0; j < together; ++j) {
                    group[j] = left == 0 ? groups() : first + (__ffs(static_cast<int>(left)) - 1) * choice_warps;
                    left &= left - 1;
                    load(group[j], shares[j]);
                }
#pragma unroll
                for (std::uint32_t j = 0; j < together; ++j) {
                    if (group[j] < groups()) {
                        function(group[j], shares[j]);
                    }
                }
            }
        }
    }

    /// Calls function(raw score, token) for the tokens of a lane's share, in ascending order.
    template <class Function>
    __device__ __forceinline__ void each_raw_of(std::uint32_t group, const Share& share,
                                                const Function& function) const {
#pragma unroll
        for (std::uint32_t i = 0; i < group_tokens / warp_lanes; ++i) {
            const std::uint32_t token = token_of_share(group, i);
            if (token < vocabulary_) {
                function(share[i], token);
            }
        }
    }

    /// The same for scores after the penalty.
    template <class Function>
    __device__ __forceinline__ void each_of(std::uint32_t group, const Share& share, const Function& function) const {
        each_raw_of(group, share, [&](float raw, std::uint32_t token) { function(penalised(raw, token), token); });
    }

    /// Calls function(score, token) for this thread's share of the groups for which wanted(largest score).
    template <class Wanted, class Function>
    __device__ __forceinline__ void each_wanted(const Wanted& wanted, const Function& function) const {
        each_group([&](std::uint32_t group) { return wanted(best_of(group)); },
                   [&](std::uint32_t group, const Share& share) { each_of(group, share, function); });
    }

    /// The lane's share of a group; 0 beyond the vocabulary.
    __device__ __forceinline__ void load(std::uint32_t group, Share& share) const {
#pragma unroll
        for (std::uint32_t i = 0; i < group_tokens / warp_lanes; ++i) {
            const std::uint32_t token = token_of_share(group, i);
            share[i] = token < vocabulary_ ? scores_[token] : 0;
        }
    }

private:
    static constexpr std::uint32_t places = 0xFFFFFFFF;
    static constexpr float bins_per_unit = 64;  // a weight of 2^-40 is 27.7 units away

    [[nodiscard]] __device__ static __forceinline__ std::uint32_t token_of_share(std::uint32_t group, std::uint32_t i) {
        return group * group_tokens + i * warp_lanes + threadIdx.x % warp_lanes;
    }

    const Rule& rule_;
    const float* scores_;
    const ScoreSum* sums_;  // see ScoredRows
    std::uint32_t vocabulary_;
    float* group_bests_;   // in shared memory
    std::uint32_t* seen_;  // a bit for each token
    float best_ = 0;
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
    const float least = scores.floor_of(last);
    const auto may_be_there = [&](float best) { return collected <= most && best >= least; };
    scores.each_wanted(may_be_there, [&](float score, std::uint32_t token) {
        const std::uint32_t bin = score >= least ? scores.bin_of(score) : ScoreBins::count;
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

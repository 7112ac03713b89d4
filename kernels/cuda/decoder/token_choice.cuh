#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/choice_memory.cuh"
#include "kernels/cuda/generator/arithmetic.cuh"

/// How a block looks at the scores of a row: as the host's TokenDraw.
namespace sluice::decoder {

class TokenChoice {
public:
    __device__ TokenChoice(const Rule& rule, const float* scores, std::uint32_t vocabulary, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), vocabulary_(vocabulary), memory_(memory) {}

    /// What was in the text is marked, for the penalty.
    __device__ void mark(const std::uint32_t* prompt, std::uint32_t prompt_tokens, const std::uint32_t* made,
                         std::uint32_t made_tokens) {
        for (std::uint32_t i = threadIdx.x; i < (vocabulary_ + 31) / 32; i += choice_threads) {
            memory_.seen[i] = 0;
        }
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < prompt_tokens + made_tokens; i += choice_threads) {
            const std::uint32_t token = i < prompt_tokens ? prompt[i] : made[i - prompt_tokens];
            atomicOr(&memory_.seen[token / 32], 1U << token % 32);
        }
        __syncthreads();
    }

    /// Of the scores as the network has them, or as they count here.
    template <bool penalised>
    __device__ BestTwo best() {
        constexpr std::uint32_t together = 8;  // loads of a thread that are on their way
        BestTwo best;
        for (std::uint32_t first = threadIdx.x; first < vocabulary_; first += together * choice_threads) {
            float of[together];
#pragma unroll
            for (std::uint32_t j = 0; j < together; ++j) {
                const std::uint32_t i = first + j * choice_threads;
                of[j] = i < vocabulary_ ? scores_[i] : -INFINITY;
            }
#pragma unroll
            for (std::uint32_t j = 0; j < together; ++j) {
                const std::uint32_t i = first + j * choice_threads;
                if (i < vocabulary_) {
                    found_nonfinite_ = found_nonfinite_ || !isfinite(of[j]);
                    best.look_at_next(penalised ? penalised_score(of[j], i) : of[j], i);
                }
            }
        }
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            best.join(best.of_lane(apart));
        }
        if (threadIdx.x % warp_lanes == 0) {
            memory_.best_scores[threadIdx.x / warp_lanes] = best.best.score;
            memory_.best_places[threadIdx.x / warp_lanes] = best.best.place;
            memory_.second_scores[threadIdx.x / warp_lanes] = best.second;
        }
        __syncthreads();
        best = {};
        for (std::uint32_t warp = 0; warp < choice_warps; ++warp) {
            best.join({{memory_.best_scores[warp], memory_.best_places[warp]}, memory_.second_scores[warp]});
        }
        __syncthreads();
        if (!best.best.is_any()) {
            best.best = {penalised ? score(0) : scores_[0], 0};
        }
        return best;
    }

    /// Of the scores that best() has looked at.
    [[nodiscard]] __device__ bool any_nonfinite() const {
        return __syncthreads_or(found_nonfinite_ ? 1 : 0) != 0;
    }

    /// ln of softmax of the network's scores at `token`.
    __device__ float log_probability(const Best& best, std::uint32_t token) {
        double sum = 0;
        for (std::uint32_t i = threadIdx.x; i < vocabulary_; i += choice_threads) {
            sum += static_cast<double>(generator::exp_of(__fadd_rn(scores_[i], -best.score)));
        }
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            sum += __shfl_xor_sync(every_lane, sum, apart);
        }
        if (threadIdx.x % warp_lanes == 0) {
            memory_.partial_sums[threadIdx.x / warp_lanes] = sum;
        }
        __syncthreads();
        sum = 0;
        for (const double part : memory_.partial_sums) {
            sum += part;
        }
        __syncthreads();
        const double value =
            static_cast<double>(scores_[token]) - static_cast<double>(best.score) - generator::log_of(sum);
        return isnan(value) ? __uint_as_float(0x7FC00000U) : static_cast<float>(value);
    }

    /// The first token whose probability, with those before it, is more than `uniform`.
    __device__ std::uint32_t draw(float largest, float uniform) {
        largest_ = largest;
        least_ = least_rank();
        last_ = walk(1, [](float) { return false; });
        all_ = memory_.all;
        __syncthreads();
        if (threadIdx.x == 0) {
            memory_.chosen = no_token;
        }
        __syncthreads();
        const std::uint32_t last = walk(all_, [uniform](float sum) { return sum > uniform; });
        if (threadIdx.x == 0 && memory_.chosen == no_token) {
            memory_.chosen = last;
        }
        __syncthreads();
        return memory_.chosen;
    }

    /// How close draw(), just now, came to another token than the one it gave: choice_doubt.cuh. Counts by the first
    /// thread.
    __device__ ChoiceDoubt doubt(std::uint32_t token, float uniform);

private:
    static constexpr std::uint32_t places = 0xFFFFFFFF;

    [[nodiscard]] __device__ __forceinline__ float score(std::uint32_t i) const {
        return penalised_score(scores_[i], i);
    }

    /// A NaN counts as minus infinity.
    [[nodiscard]] __device__ __forceinline__ float penalised_score(float raw, std::uint32_t i) const {
        const float score = isnan(raw) ? -INFINITY : raw;
        if (rule_.repetition_penalty == 1 || (memory_.seen[i / 32] >> i % 32 & 1) == 0) {
            return score;
        }
        return score > 0 ? __fdiv_rn(score, rule_.repetition_penalty) : __fmul_rn(score, rule_.repetition_penalty);
    }

    [[nodiscard]] __device__ __forceinline__ float weight_of(float score) const {
        return generator::exp_of(__fdiv_rn(__fadd_rn(score, -largest_), rule_.temperature));
    }

    /// Of the tokens that may be chosen the least rank: top_k of them, and of those as many as add up to top_p.
    __device__ std::uint64_t least_rank() {
        std::uint64_t least = 0;
        if (rule_.top_k != 0 && rule_.top_k < vocabulary_) {
            least = rank_at(rule_.top_k, [](std::uint64_t, float) { return 1ULL; });
        }
        if (rule_.top_p < 1) {
            constexpr float unit = 0x1p40F;  // sums of whole numbers do not depend on their order
            const auto weigh = [&](std::uint64_t rank, float score) {
                return rank >= least ? static_cast<unsigned long long>(weight_of(score) * unit) : 0ULL;
            };
            const std::uint64_t all = sum_of(weigh);
            const auto wanted =
                static_cast<std::uint64_t>(ceil(static_cast<double>(rule_.top_p) * static_cast<double>(all)));
            const std::uint64_t cut = rank_at(wanted == 0 ? 1 : wanted, weigh);
            least = cut > least ? cut : least;
            cut_distance_ = memory_.cut_distance / static_cast<float>(all);
        }
        return least;
    }

    template <class Weigh>
    __device__ std::uint64_t sum_of(const Weigh& weigh) {
        if (threadIdx.x == 0) {
            memory_.sums[0] = 0;
        }
        __syncthreads();
        unsigned long long sum = 0;
        for (std::uint32_t i = threadIdx.x; i < vocabulary_; i += choice_threads) {
            const float of = score(i);
            sum += weigh(rank_of(of, i, places), of);
        }
        atomicAdd(&memory_.sums[0], sum);
        __syncthreads();
        const std::uint64_t all = memory_.sums[0];
        __syncthreads();
        return all;
    }

    /// The rank at which what all ranks weigh, from the largest down, has added up to `wanted`; a digit at a time.
    template <class Weigh>
    __device__ std::uint64_t rank_at(std::uint64_t wanted, const Weigh& weigh) {
        std::uint64_t prefix = 0;
        for (int shift = 56; shift >= 0; shift -= 8) {
            for (std::uint32_t i = threadIdx.x; i < digits; i += choice_threads) {
                memory_.sums[i] = 0;
            }
            __syncthreads();
            for (std::uint32_t i = threadIdx.x; i < vocabulary_; i += choice_threads) {
                const float of = score(i);
                const std::uint64_t rank = rank_of(of, i, places);
                if (shift == 56 || (rank ^ prefix) >> (shift + 8) == 0) {
                    atomicAdd(&memory_.sums[rank >> shift & (digits - 1)], weigh(rank, of));
                }
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                find_digit(prefix, wanted, shift);
            }
            __syncthreads();
            prefix = memory_.prefix;
            wanted = memory_.left;
            __syncthreads();
        }
        return prefix;
    }

    __device__ CutSides cut_sides(std::uint32_t token) const;

    __device__ void find_digit(std::uint64_t prefix, std::uint64_t wanted, int shift) {
        std::uint32_t lowest = digits - 1;
        for (std::uint32_t digit = digits; digit-- > 0;) {
            if (memory_.sums[digit] == 0) {
                continue;
            }
            lowest = digit;
            if (memory_.sums[digit] >= wanted) {
                break;
            }
            wanted -= memory_.sums[digit];
        }
        memory_.prefix = prefix | std::uint64_t{lowest} << shift;
        memory_.left = wanted;
        const unsigned long long weight = memory_.sums[lowest];  // at last, of one token
        memory_.cut_distance = static_cast<float>(wanted < weight - wanted ? wanted : weight - wanted);
    }

    /// Adds the weights up in order, each divided by `divisor`, by the first thread, while the others make the next
    /// ones; until `found(sum)`, whose token memory_.chosen becomes. Returns there the last token that may be chosen.
    template <class Found>
    __device__ std::uint32_t walk(float divisor, const Found& found) {
        float sum = 0;
        std::uint32_t last = 0;
        int ends = 0;
        for (std::uint32_t first = 0, turn = 0; first < vocabulary_; first += tile_weights, turn ^= 1) {
            if (__syncthreads_or(ends) != 0) {
                break;
            }
            const bool any = fill(memory_.weights[turn], first, divisor);
            if (__syncthreads_or(any ? 1 : 0) != 0 && threadIdx.x == 0) {
                ends = add_tile(memory_.weights[turn], first, found, sum, last) ? 1 : 0;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            memory_.all = sum;
        }
        __syncthreads();
        return last;
    }

    __device__ bool fill(float* weights, std::uint32_t first, float divisor) const {
        bool any = false;
        for (std::uint32_t i = threadIdx.x; i < tile_weights; i += choice_threads) {
            const std::uint32_t token = first + i;
            float weight = 0;
            if (token < vocabulary_) {
                const float of = score(token);
                if (rank_of(of, token, places) >= least_) {
                    weight = weight_of(of);
                }
            }
            any = any || weight != 0;
            weights[i] = divisor == 1 ? weight : __fdiv_rn(weight, divisor);
        }
        return any;
    }

    template <class Found>
    __device__ bool add_tile(const float* weights, std::uint32_t first, const Found& found, float& sum,
                             std::uint32_t& last) {
        for (std::uint32_t i = 0; i < tile_weights; i += 4) {
            const float4 four = *reinterpret_cast<const float4*>(weights + i);
            const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                sum = __fadd_rn(sum, each[j]);
                if (each[j] != 0) {
                    last = first + i + j;
                    if (found(sum)) {
                        memory_.chosen = last;
                        return true;
                    }
                }
            }
        }
        return false;
    }

    const Rule& rule_;
    const float* scores_;
    std::uint32_t vocabulary_;
    ChoiceMemory& memory_;
    float largest_ = 0;
    std::uint64_t least_ = 0;
    float cut_distance_ = TextDoubt::none;  // of the probabilities that count to top_p, as a share of all of them
    float all_ = 0;                         // weights
    std::uint32_t last_ = 0;                // that may be chosen; the first thread's
    bool found_nonfinite_ = false;          // by this thread
};

}  // namespace sluice::decoder

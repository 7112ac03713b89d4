#pragma once

#include <cstdint>

#include "kernels/cuda/best.cuh"
#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/choice_memory.cuh"
#include "kernels/cuda/generator/arithmetic.cuh"
#include "kernels/token_sampling.hpp"

/// A block's access to the scores of a row.
namespace sluice::decoder {

class RowScores {
public:
    __device__ RowScores(const Rule& rule, const float* scores, std::uint32_t vocabulary, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), vocabulary_(vocabulary), memory_(memory) {}

    /// Marks the text's tokens, for the penalty.
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

    [[nodiscard]] __device__ std::uint32_t vocabulary() const { return vocabulary_; }

    /// The network's score.
    [[nodiscard]] __device__ __forceinline__ float raw(std::uint32_t token) const { return scores_[token]; }

    /// Penalised; a NaN counts as minus infinity.
    [[nodiscard]] __device__ __forceinline__ float penalised(float raw, std::uint32_t token) const {
        const float score = isnan(raw) ? -INFINITY : raw;
        if (rule_.repetition_penalty == 1 || (memory_.seen[token / 32] >> token % 32 & 1) == 0) {
            return score;
        }
        return score > 0 ? __fdiv_rn(score, rule_.repetition_penalty) : __fmul_rn(score, rule_.repetition_penalty);
    }
    [[nodiscard]] __device__ __forceinline__ float operator[](std::uint32_t token) const {
        return penalised(scores_[token], token);
    }

    [[nodiscard]] __device__ static __forceinline__ std::uint64_t rank(float score, std::uint32_t token) {
        constexpr std::uint32_t places = 0xFFFFFFFF;
        return rank_of(score, token, places);
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

    /// Calls function(score, token) for this thread's share of all scores, after the penalty.
    template <class Function>
    __device__ __forceinline__ void each_of_thread(const Function& function) const {
        each_raw(threadIdx.x, choice_threads, vocabulary_,
                 [&](float raw, std::uint32_t token) { function(penalised(raw, token), token); });
    }

private:
    const Rule& rule_;
    const float* scores_;
    std::uint32_t vocabulary_;
    ChoiceMemory& memory_;
    float largest_ = 0;
};

}  // namespace sluice::decoder

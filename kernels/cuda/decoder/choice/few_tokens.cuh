#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choice/cross.cuh"
#include "kernels/cuda/decoder/choice/row_scores.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// A draw among the tokens that top_k and top_p keep where there are few.
namespace sluice::decoder {

/// At most one token per thread of a block: the cut and the draw among them read no scores.
class FewTokens {
public:
    __device__ FewTokens(const Rule& rule, const RowScores& scores, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), memory_(memory) {}

    /// Collects the tokens with scores in bins up to `last`: LikelyCut::last_bin(). False: there are too many.
    __device__ bool collect(std::uint32_t last) {
        const bool by_number = cuts_by_number(rule_, scores_);  // then as many groups as top_k have scores there
        if (last + 1 == ScoreBins::count || (!by_number && scores_.groups_up_to(last) > choice_threads)) {
            return false;
        }
        const std::uint32_t count = decoder::collect(scores_, memory_, 0, last, choice_threads,
                                                     [&](std::uint64_t, float score) { return scores_.weight(score); });
        if (count > choice_threads) {
            return false;
        }
        count_ = count;
        if (exists()) {
            rank_ = of_all().ranks[threadIdx.x];
            weight_ = of_all().weights[threadIdx.x];
        }
        return true;
    }

    /// As LikelyCut's. `of_all_tokens`: the sum of the weights of all, also of others, unless top_k leaves some out.
    __device__ std::uint64_t least_rank(unsigned long long of_all_tokens) {
        std::uint32_t likelier = 0;
        unsigned long long before = 0;
        for (std::uint32_t i = 0; exists() && i < count_; ++i) {
            const bool is_likelier = of_all().ranks[i] > rank_;
            likelier += is_likelier ? 1 : 0;
            before += is_likelier ? of_all().weights[i] : 0;
        }
        const bool by_number = cuts_by_number(rule_, scores_);
        const bool of_k = exists() && (!by_number || likelier < rule_.top_k);
        const unsigned long long all = by_number ? sum_of_block(of_k ? weight_ : 0) : of_all_tokens;
        const unsigned long long wanted = share_of(rule_.top_p, all);
        const bool is_last =
            rule_.top_p == 1 ? likelier + 1 == rule_.top_k : before < wanted && wanted <= before + weight_;
        if (of_k && is_last) {
            memory_.rank = rank_;
            memory_.cut_distance = min(wanted - before, before + weight_ - wanted);
        }
        __syncthreads();
        if (rule_.top_p < 1) {
            distance_ = static_cast<float>(memory_.cut_distance) / static_cast<float>(all);
        }
        return memory_.rank;
    }
    [[nodiscard]] __device__ float distance() const { return distance_; }

    /// Draws from the tokens of at least this rank, into memory.drawn.
    __device__ void draw(std::uint64_t least, float uniform) {
        const bool is_kept = exists() && rank_ >= least;
        const std::uint32_t token = RowScores::token_of(rank_);
        unsigned long long before = 0;
        for (std::uint32_t i = 0; exists() && i < count_; ++i) {
            const std::uint64_t rank = of_all().ranks[i];
            before += rank >= least && RowScores::token_of(rank) < token ? of_all().weights[i] : 0;
        }
        const unsigned long long all = sum_of_block(is_kept ? weight_ : 0);
        const unsigned long long wanted = part_of(uniform, all);
        if (is_kept && before <= wanted && wanted < before + weight_) {
            memory_.drawn = {.token = token, .weight = weight_, .up_to = before + weight_, .all = all};
        }
        __syncthreads();
    }

private:
    [[nodiscard]] __device__ __forceinline__ bool exists() const { return threadIdx.x < count_; }
    [[nodiscard]] __device__ __forceinline__ const CollectedScores& of_all() const { return memory_.cut.scores; }

    __device__ unsigned long long sum_of_block(unsigned long long value) {
        value = sum_of_warp(value);
        if (threadIdx.x % warp_lanes == 0) {
            memory_.warp_sums[threadIdx.x / warp_lanes] = value;
        }
        __syncthreads();
        unsigned long long all = 0;
        for (const unsigned long long of_warp : memory_.warp_sums) {
            all += of_warp;
        }
        __syncthreads();
        return all;
    }

    const Rule& rule_;
    const RowScores& scores_;
    ChoiceMemory& memory_;
    std::uint32_t count_ = 0;
    std::uint64_t rank_ = 0;  // of this thread's token
    unsigned long long weight_ = 0;
    float distance_ = TextDoubt::none;
};

}  // namespace sluice::decoder

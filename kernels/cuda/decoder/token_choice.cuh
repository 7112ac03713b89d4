#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/likely_cut.cuh"
#include "kernels/cuda/decoder/row_scores.cuh"

/// A block's choice of a token by the scores of a row: as the host's TokenDraw.
namespace sluice::decoder {

class TokenChoice {
public:
    __device__ TokenChoice(const Rule& rule, const RowScores& scores, ChoiceMemory& memory)
        : rule_(rule), scores_(scores), memory_(memory) {}

    /// The best of the network's scores, or of the scores after the penalty.
    template <bool penalised>
    __device__ BestTwo best() {
        BestTwo best;
        scores_.each_raw(threadIdx.x, choice_threads, scores_.vocabulary(), [&](float raw, std::uint32_t token) {
            found_nonfinite_ = found_nonfinite_ || !isfinite(raw);
            best.look_at_next(penalised ? scores_.penalised(raw, token) : raw, token);
        });
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
            best.best = {penalised ? scores_[0] : scores_.raw(0), 0};
        }
        return best;
    }

    /// Whether best() has seen a NaN or an infinity.
    [[nodiscard]] __device__ bool any_nonfinite() const {
        return __syncthreads_or(found_nonfinite_ ? 1 : 0) != 0;
    }

    /// ln of softmax of the network's scores at `token`.
    __device__ float log_probability(const Best& best, std::uint32_t token) {
        double sum = 0;
        scores_.each_raw(threadIdx.x, choice_threads, scores_.vocabulary(), [&](float raw, std::uint32_t) {
            sum += static_cast<double>(generator::exp_of(__fadd_rn(raw, -best.score)));
        });
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
            static_cast<double>(scores_.raw(token)) - static_cast<double>(best.score) - generator::log_of(sum);
        return isnan(value) ? __uint_as_float(0x7FC00000U) : static_cast<float>(value);
    }

    /// The first token at which the sum of weights exceeds `uniform` of all. Each warp sums an equal part of the
    /// tokens; the part in which the sum is reached is divided again, down to 32 tokens.
    __device__ std::uint32_t draw(float largest, float uniform) {
        scores_.set_largest(largest);
        LikelyCut cut(rule_, scores_, memory_);
        least_ = cut.least_rank();
        cut_distance_ = cut.distance();
        std::uint32_t begin = 0;
        std::uint32_t end = scores_.vocabulary();
        unsigned long long wanted = 0;
        sum_ = 0;
        for (std::uint32_t part = 0; part != warp_lanes;) {
            const bool is_whole = part == 0;
            part = divide_up(divide_up(end - begin, choice_warps), warp_lanes) * warp_lanes;
            add_up_parts(begin, end, part);
            if (is_whole) {
                all_ = 0;
                for (const unsigned long long sum : memory_.warp_sums) {
                    all_ += sum;
                }
                wanted = __double2ull_rz(static_cast<double>(uniform) * static_cast<double>(all_));
            }
            for (std::uint32_t warp = 0; sum_ + memory_.warp_sums[warp] <= wanted; ++warp) {
                sum_ += memory_.warp_sums[warp];
                begin += part;
            }
            end = min(end, begin + part);
            __syncthreads();
        }
        return draw_one(begin, end, wanted);
    }

    /// How close the last draw() came to another token; see choice_doubt.cuh.
    __device__ ChoiceDoubt doubt(std::uint32_t token, float uniform) const;

private:
    [[nodiscard]] __device__ __forceinline__ unsigned long long weight(float score, std::uint32_t token) const {
        return least_ == 0 || RowScores::rank(score, token) >= least_ ? scores_.weight(score) : 0;
    }

    /// Sums the weights of `part` tokens per warp, from `begin` on, into memory_.warp_sums.
    __device__ void add_up_parts(std::uint32_t begin, std::uint32_t end, std::uint32_t part) {
        const std::uint32_t from = begin + threadIdx.x / warp_lanes * part;
        unsigned long long sum = 0;
        scores_.each_raw(from + threadIdx.x % warp_lanes, warp_lanes, min(end, from + part),
                         [&](float raw, std::uint32_t token) { sum += weight(scores_.penalised(raw, token), token); });
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            sum += __shfl_xor_sync(every_lane, sum, apart);
        }
        if (threadIdx.x % warp_lanes == 0) {
            memory_.warp_sums[threadIdx.x / warp_lanes] = sum;
        }
        __syncthreads();
    }

    /// Draws from at most 32 tokens, in each warp.
    __device__ std::uint32_t draw_one(std::uint32_t begin, std::uint32_t end, unsigned long long wanted) {
        const std::uint32_t token = begin + threadIdx.x % warp_lanes;
        const unsigned long long own = token < end ? weight(scores_[token], token) : 0;
        unsigned long long up_to = own;
#pragma unroll
        for (std::uint32_t apart = 1; apart < warp_lanes; apart *= 2) {
            const unsigned long long other = __shfl_up_sync(every_lane, up_to, apart);
            up_to += threadIdx.x % warp_lanes >= apart ? other : 0;
        }
        const std::uint32_t first = __ffs(static_cast<int>(__ballot_sync(every_lane, sum_ + up_to > wanted))) - 1;
        sum_ += __shfl_sync(every_lane, up_to, static_cast<int>(first));
        weight_ = __shfl_sync(every_lane, own, static_cast<int>(first));
        return begin + first;
    }

    __device__ CutSides cut_sides(std::uint32_t token) const;

    const Rule& rule_;
    RowScores scores_;
    ChoiceMemory& memory_;
    std::uint64_t least_ = 0;  // least rank that is kept
    float cut_distance_ = TextDoubt::none;
    unsigned long long all_ = 0;     // sum of kept weights
    unsigned long long sum_ = 0;     // up to the token drawn
    unsigned long long weight_ = 0;  // of the token drawn
    bool found_nonfinite_ = false;   // by this thread
};

}  // namespace sluice::decoder

#pragma once

#include <cstdint>

#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/best.cuh"
#include "kernels/cuda/primitives/block.cuh"

/// A warp's draws from the scores of several rows: as the host's ByteDraw, bit for bit.
namespace sluice::generator {

constexpr std::uint32_t draw_warps = 4;  // per block; they are independent
constexpr std::uint32_t warp_rows = 8;   // per warp, each with a lane for its ordered sums
constexpr std::uint32_t lane_scores = gru_symbols / warp_lanes;
constexpr std::uint32_t weights_row = gru_symbols + 1;  // so that lanes of different rows have no bank conflicts
constexpr std::uint32_t draw_threads = draw_warps * warp_lanes;
constexpr std::uint32_t block_rows = draw_warps * warp_rows;
constexpr std::uint32_t draw_shared_bytes = block_rows * weights_row * sizeof(float);

/// Where a draw is among the sums of probabilities.
struct DrawnAt {
    float sum;     ///< p[0] + ... + p[i] of the chosen byte i.
    float before;  ///< p[0] + ... + p[i - 1]
    bool last;     ///< Whether no later byte may be chosen.
};

/// The host's ByteDraw::doubt(). at() returns the DrawnAt.
template <class At>
__device__ __forceinline__ TextDoubt doubt_of(float uniform, const Sampling& sampling, double log_sum, float gap,
                                              const At& at) {
    if (isnan(log_sum)) {
        return {.distance = NAN, .gap = NAN};
    }
    TextDoubt doubt{.gap = gap};
    if (sampling.temperature == 0) {
        return doubt;
    }
    const DrawnAt drawn = at();
    if (!drawn.last) {
        doubt.distance = __fadd_rn(drawn.sum, -uniform);
    }
    if (drawn.before > 0) {
        doubt.distance = fminf(doubt.distance, __fadd_rn(uniform, -drawn.before));
    }
    return doubt;
}

class WarpDraw {
public:
    /// `scores`: (rows, 256) from the warp's first row on, at most warp_rows; `weights`: (warp_rows, weights_row) in
    /// shared memory.
    __device__ WarpDraw(const Sampling& sampling, const float* scores, std::uint32_t rows, float* weights)
        : sampling_(sampling),
          scores_(scores),
          rows_(rows),
          lane_(threadIdx.x % warp_lanes),
          weights_(weights),
          own_(weights + lane_ % warp_rows * weights_row) {}

    /// Whether this lane has a row: number lane().
    [[nodiscard]] __device__ __forceinline__ bool has_row() const { return lane_ < rows_; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t lane() const { return lane_; }

    /// Called by all lanes; afterwards the lanes that have a row may draw from its scores.
    __device__ void look() {
        weigh<false>();
        sum_ = sum_own();
        log_sum_ = ordered::log_of(static_cast<double>(sum_));
        if (sampling_.temperature == 0) {
            return;
        }
        if (sampling_.temperature != 1 || (sampling_.top_k != 0 && sampling_.top_k < gru_symbols)) {
            __syncwarp();
            weigh<true>();
            sum_ = sum_own();
        }
        __syncwarp();
        for (std::uint32_t row = 0; row < rows_; ++row) {
            const float sum = __shfl_sync(every_lane, sum_, row);
#pragma unroll
            for (std::uint32_t i = 0; i < lane_scores; ++i) {
                float& weight = weights_[row * weights_row + i * warp_lanes + lane_];
                weight = __fdiv_rn(weight, sum);
            }
        }
        __syncwarp();
    }

    /// Called by a lane that has a row.
    [[nodiscard]] __device__ std::uint32_t choose(float uniform) const {
        if (sampling_.temperature == 0) {
            return best_.place;
        }
        float sum = 0;
        std::uint32_t chosen = gru_symbols;
#pragma unroll 16
        for (std::uint32_t i = 0; i < gru_symbols; ++i) {
            sum = __fadd_rn(sum, own_[i]);
            chosen = chosen == gru_symbols && sum > uniform ? i : chosen;
        }
        return chosen == gru_symbols ? last() : chosen;
    }

    /// Doubt of a draw that chose `byte`.
    [[nodiscard]] __device__ TextDoubt doubt(float uniform, std::uint32_t byte) const {
        return doubt_of(uniform, sampling_, log_sum_, gap(), [&] {
            DrawnAt drawn{.sum = 0, .before = 0, .last = true};
            float sum = 0;
#pragma unroll 16
            for (std::uint32_t i = 0; i < gru_symbols; ++i) {  // to the end: without branches the loads overlap
                const float weight = own_[i];
                const float next = __fadd_rn(sum, weight);
                drawn.before = i == byte ? sum : drawn.before;
                drawn.sum = i == byte ? next : drawn.sum;
                drawn.last = drawn.last && (i <= byte || weight == 0);
                sum = next;
            }
            return drawn;
        });
    }

    /// TextDoubt::gap of a draw.
    [[nodiscard]] __device__ float gap() const {
        const bool greedy = sampling_.temperature == 0;
        if (!greedy && (sampling_.top_k == 0 || sampling_.top_k >= gru_symbols)) {
            return TextDoubt::none;
        }
        float kept = TextDoubt::none;
        float dropped = -TextDoubt::none;
        for (std::uint32_t i = 0; i < gru_symbols; ++i) {
            const float score = scores_[lane_ * gru_symbols + i];
            if (greedy ? i == best_.place : own_[i] != 0) {
                kept = score < kept ? score : kept;
            } else {
                dropped = dropped < score ? score : dropped;
            }
        }
        return __fadd_rn(kept, -dropped);
    }

    [[nodiscard]] __device__ double log_probability(std::uint32_t byte) const {
        const double above =
            __dadd_rn(static_cast<double>(scores_[lane_ * gru_symbols + byte]), -static_cast<double>(best_.score));
        return __dadd_rn(above, -log_sum_);
    }

    [[nodiscard]] __device__ double log_sum() const {
        return log_sum_;
    }
    [[nodiscard]] __device__ std::uint32_t best() const {
        return best_.place;
    }
    [[nodiscard]] __device__ std::uint32_t last() const {
        std::uint32_t last = gru_symbols - 1;
        if (sampling_.temperature != 0) {
            while (last > 0 && own_[last] == 0) {
                --last;
            }
        }
        return last;
    }
    /// The row's probabilities after look(), unless the temperature is 0.
    [[nodiscard]] __device__ float* own() const {
        return own_;
    }

private:
    /// e^(score - best) of all rows, or e^((score - best) / temperature) of the scores that are kept, 0 for others.
    template <bool chosen_from>
    __device__ void weigh() {
        float next[lane_scores];
        load(0, next);
        for (std::uint32_t row = 0; row < rows_; ++row) {
            float scores[lane_scores];
#pragma unroll
            for (std::uint32_t i = 0; i < lane_scores; ++i) {
                scores[i] = next[i];
            }
            if (row + 1 < rows_) {
                load(row + 1, next);
            }
            float best = 0;
            if constexpr (chosen_from) {
                best = __shfl_sync(every_lane, best_.score, row);
            } else {
                const Best found = best_of(scores);
                best = found.score;
                if (lane_ == row) {
                    best_ = found;
                }
            }
            std::uint64_t least = 0;
            if (chosen_from && sampling_.top_k != 0 && sampling_.top_k < gru_symbols) {
                least = least_rank(scores);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < lane_scores; ++i) {
                const std::uint32_t place = i * warp_lanes + lane_;
                float above = __fadd_rn(scores[i], -best);
                if (chosen_from && sampling_.temperature != 1) {
                    above = __fdiv_rn(above, sampling_.temperature);
                }
                const bool counts = rank_of(scores[i], place, gru_symbols) >= least;
                weights_[row * weights_row + place] = counts ? ordered::exp_of(above) : 0.0F;
            }
        }
        __syncwarp();
    }

    /// This lane's scores of a row.
    __device__ __forceinline__ void load(std::uint32_t row, float (&scores)[lane_scores]) const {
#pragma unroll
        for (std::uint32_t i = 0; i < lane_scores; ++i) {
            scores[i] = scores_[row * gru_symbols + i * warp_lanes + lane_];
        }
    }

    __device__ Best best_of(const float (&scores)[lane_scores]) const {
        Best best;
#pragma unroll
        for (std::uint32_t i = 0; i < lane_scores; ++i) {
            best.look_at(scores[i], i * warp_lanes + lane_);
        }
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            const float score = __shfl_xor_sync(every_lane, best.score, apart);
            best.look_at(score, __shfl_xor_sync(every_lane, best.place, apart));
        }
        const float first = __shfl_sync(every_lane, scores[0], 0);
        return best.is_any() ? best : Best{first, 0};
    }

    /// The top_k-th largest rank.
    __device__ std::uint64_t least_rank(const float (&scores)[lane_scores]) const {
        constexpr int place_bits = 9;
        std::uint64_t ranks[lane_scores];
#pragma unroll
        for (std::uint32_t i = 0; i < lane_scores; ++i) {
            ranks[i] = rank_of(scores[i], i * warp_lanes + lane_, gru_symbols);
        }
        std::uint64_t least = 0;
        for (int bit = 63; bit >= 0; bit = bit == 32 ? place_bits - 1 : bit - 1) {
            const std::uint64_t candidate = least | std::uint64_t{1} << bit;
            std::uint32_t count = 0;
#pragma unroll
            for (std::uint32_t i = 0; i < lane_scores; ++i) {
                count += __popc(__ballot_sync(every_lane, ranks[i] >= candidate));
            }
            least = count >= sampling_.top_k ? candidate : least;
        }
        return least;
    }

    /// Sum of the row's weights, in order.
    [[nodiscard]] __device__ float sum_own() const {
        float sum = 0;
        if (has_row()) {
#pragma unroll 16
            for (std::uint32_t i = 0; i < gru_symbols; ++i) {
                sum = __fadd_rn(sum, own_[i]);
            }
        }
        return sum;
    }

    const Sampling& sampling_;
    const float* scores_;
    std::uint32_t rows_;
    std::uint32_t lane_;
    float* weights_;
    float* own_;
    Best best_{};
    float sum_ = 0;
    double log_sum_ = 0;
};

}  // namespace sluice::generator

#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/prompts/prompt_products.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

/// Weights of keys for the lane's two queries, from scores that come in steps; Milakov, Gimelshein 2018 (online
/// softmax).
class PromptWeights {
public:
    /// `scale`: of scores.
    __device__ __forceinline__ explicit PromptWeights(float scale) : scale_(scale * ptx::log2_e), spare_(8 / scale_) {}

    /// Turns scores into weights, and sets the factors `kept` of all sums so far. Weights are relative to a reference
    /// that follows the largest score only when that would weigh more than 2^8: else sums need no scaling.
    __device__ __forceinline__ void weigh(Scores& scores, float (&kept)[2]) {
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            float largest =
                fmaxf(fmaxf(scores[0][2 * i], scores[0][2 * i + 1]), fmaxf(scores[1][2 * i], scores[1][2 * i + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, 2));
            const bool grows = largest > largest_[i] + spare_;
            const float reference = grows ? largest : largest_[i];
            const float below = -reference * scale_;
            kept[i] = grows ? ptx::exp2_about(fmaf(largest_[i], scale_, below)) : 1;
            largest_[i] = reference;
            float sum = 0;
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                float& weight = scores[j / 2][2 * i + j % 2];
                weight = ptx::exp2_about(fmaf(weight, scale_, below));
                sum += weight;
            }
            sums_[i] = fmaf(sums_[i], kept[i], sum);
        }
    }

    /// After the last step. All lanes call.
    __device__ __forceinline__ void add_up() {
        for (float& sum : sums_) {
            sum += __shfl_xor_sync(every_lane, sum, 1);
            sum += __shfl_xor_sync(every_lane, sum, 2);
        }
    }

    /// By which the lane's i-th query's sums of weighted values are multiplied at the end.
    [[nodiscard]] __device__ __forceinline__ float factor(std::uint32_t i) const {
        return __frcp_rn(sums_[i]);
    }

private:
    float scale_;
    float spare_;
    float largest_[2] = {-INFINITY, -INFINITY};
    float sums_[2] = {0, 0};  // of weights; before add_up() of this lane's keys only
};

}  // namespace sluice::decoder

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"

/// Log-probabilities by the scores of a row.
namespace sluice::decoder {

inline constexpr std::uint32_t nan_bits = 0x7FC00000;

/// What a group at a temperature of 1 adds to a row's sum of e^(score - largest).
[[nodiscard]] __device__ __forceinline__ double part_of_sum(const ScoreSum& group, float largest) {
    return static_cast<double>(ordered::exp_of(__fadd_rn(group.largest, -largest)) * group.sum);
}

/// ln of softmax at `score` in a row with this largest score and this sum of e^(score - largest).
[[nodiscard]] __device__ __forceinline__ float log_of_softmax(float score, float largest, double sum) {
    const double value = static_cast<double>(score) - static_cast<double>(largest) - ordered::log_of(sum);
    return isnan(value) ? __uint_as_float(nan_bits) : static_cast<float>(value);
}

}  // namespace sluice::decoder

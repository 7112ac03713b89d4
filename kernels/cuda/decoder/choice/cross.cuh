#pragma once

#include <cstdint>

#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/token_sampling.hpp"

/// Draws by weights, which are whole numbers: their sums do not depend on the order.
namespace sluice::decoder {

/// Weight, rounded down, of `sum` times e^distance; of 1 at no distance it is token_weight_unit.
[[nodiscard]] __device__ __forceinline__ unsigned long long weight_at(float distance, float sum) {
    return __float2ull_rz(__fmul_rn(ordered::exp_of(distance), __fmul_rn(sum, token_weight_unit)));
}

/// One of some weights, and the sum of those before it.
struct Crossed {
    std::uint32_t number;
    unsigned long long weight;
    unsigned long long before;
};

/// The first of `count` weights at which their sum exceeds wanted(sum of all), which is less than that sum. Called by
/// all lanes of a warp.
template <class Weigh, class Wanted>
[[nodiscard]] __device__ Crossed cross(std::uint32_t count, const Weigh& weigh, const Wanted& wanted) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t of_lane = divide_up(count, warp_lanes);
    const std::uint32_t begin = min(lane * of_lane, count);
    const std::uint32_t end = min(begin + of_lane, count);
    unsigned long long own = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
        own += weigh(i);
    }
    const unsigned long long up_to = sum_up_to_lane(own);
    const unsigned long long sum = wanted(__shfl_sync(every_lane, up_to, warp_lanes - 1));
    const int first = __ffs(static_cast<int>(__ballot_sync(every_lane, up_to > sum))) - 1;
    Crossed crossed{.number = begin, .weight = 0, .before = up_to - own};
    if (lane == static_cast<std::uint32_t>(first)) {
        for (crossed.weight = weigh(begin); crossed.before + crossed.weight <= sum;) {
            crossed.before += crossed.weight;
            crossed.weight = weigh(++crossed.number);
        }
    }
    return {__shfl_sync(every_lane, crossed.number, first), __shfl_sync(every_lane, crossed.weight, first),
            __shfl_sync(every_lane, crossed.before, first)};
}

/// The sum of weights that a draw has to exceed.
[[nodiscard]] __device__ inline unsigned long long part_of(float uniform, unsigned long long all) {
    return __double2ull_rz(static_cast<double>(uniform) * static_cast<double>(all));
}

}  // namespace sluice::decoder

#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

/// The largest of some scores, by the rules of the host's first_largest().
namespace sluice {

inline constexpr std::uint32_t no_place = 0xFFFFFFFF;

/// The largest score so far, the first among equals; a NaN is never the largest.
struct Best {
    float score = -INFINITY;
    std::uint32_t place = no_place;

    __device__ __forceinline__ void look_at(float other, std::uint32_t at) {
        if (other > score || (other == score && at < place)) {
            score = other;
            place = at;
        }
    }

    /// False: the first of all scores counts as the largest.
    [[nodiscard]] __device__ __forceinline__ bool is_any() const { return score > -INFINITY; }
};

/// The same, and the largest of the other scores, too large if a NaN was among them.
struct BestTwo {
    Best best{};
    float second = -INFINITY;

    __device__ __forceinline__ void look_at(float other, std::uint32_t at) {
        second = fmaxf(second, fminf(best.score, other));
        best.look_at(other, at);
    }

    /// `at` is greater than all indices so far.
    __device__ __forceinline__ void look_at_next(float other, std::uint32_t at) {
        second = fmaxf(second, fminf(best.score, other));
        if (other > best.score) {
            best = {other, at};
        }
    }

    /// Adds the results of other scores.
    __device__ __forceinline__ void join(const BestTwo& others) {
        second = fmaxf(fmaxf(second, others.second), fminf(best.score, others.best.score));
        best.look_at(others.best.score, others.best.place);
    }

    /// The value of the lane whose number differs by xor `apart`. Called by all lanes of a warp.
    [[nodiscard]] __device__ __forceinline__ BestTwo of_lane(std::uint32_t apart) const {
        constexpr std::uint32_t every = 0xFFFFFFFF;
        return {{__shfl_xor_sync(every, best.score, apart), __shfl_xor_sync(every, best.place, apart)},
                __shfl_xor_sync(every, second, apart)};
    }

    /// Lead of the best score over the second.
    [[nodiscard]] __device__ __forceinline__ float gap() const { return __fadd_rn(best.score, -second); }
};

/// Sort key: a total order of scores, NaN included; among equal scores the first ranks higher. place < places.
__device__ __forceinline__ std::uint64_t rank_of(float score, std::uint32_t place, std::uint32_t places) {
    constexpr std::uint32_t sign = 1U << 31U;
    const std::uint32_t bits = __float_as_uint(score == 0 ? 0.0F : score);
    const std::uint32_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
    return (std::uint64_t{ordered} << 32U) | (places - place);
}

}  // namespace sluice

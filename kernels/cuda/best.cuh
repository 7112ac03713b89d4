#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

/// Which of some scores is the largest: as the host's first_largest().
namespace sluice {

inline constexpr std::uint32_t no_place = 0xFFFFFFFF;

/// The largest of the scores that were looked at, of equal ones the first; a NaN is never it.
struct Best {
    float score = -INFINITY;
    std::uint32_t place = no_place;

    __device__ __forceinline__ void look_at(float other, std::uint32_t at) {
        if (other > score || (other == score && at < place)) {
            score = other;
            place = at;
        }
    }

    /// Otherwise the first of all scores counts as the largest.
    [[nodiscard]] __device__ __forceinline__ bool is_any() const { return score > -INFINITY; }
};

/// The same, and the largest of the other ones; more than that where a NaN was among them.
struct BestTwo {
    Best best{};
    float second = -INFINITY;

    __device__ __forceinline__ void look_at(float other, std::uint32_t at) {
        second = fmaxf(second, fminf(best.score, other));
        best.look_at(other, at);
    }

    /// At a place behind all that were looked at.
    __device__ __forceinline__ void look_at_next(float other, std::uint32_t at) {
        second = fmaxf(second, fminf(best.score, other));
        if (other > best.score) {
            best = {other, at};
        }
    }

    /// Of scores that this one has not looked at.
    __device__ __forceinline__ void join(const BestTwo& others) {
        second = fmaxf(fmaxf(second, others.second), fminf(best.score, others.best.score));
        best.look_at(others.best.score, others.best.place);
    }

    /// That of a lane `apart` from this one, by all lanes of a warp.
    [[nodiscard]] __device__ __forceinline__ BestTwo of_lane(std::uint32_t apart) const {
        constexpr std::uint32_t every = 0xFFFFFFFF;
        return {{__shfl_xor_sync(every, best.score, apart), __shfl_xor_sync(every, best.place, apart)},
                __shfl_xor_sync(every, second, apart)};
    }

    /// How far the best one leads.
    [[nodiscard]] __device__ __forceinline__ float gap() const { return __fadd_rn(best.score, -second); }
};

/// Larger of a larger score, of equal ones of the first: their order is total, NaN included. place < places.
__device__ __forceinline__ std::uint64_t rank_of(float score, std::uint32_t place, std::uint32_t places) {
    constexpr std::uint32_t sign = 1U << 31U;
    const std::uint32_t bits = __float_as_uint(score == 0 ? 0.0F : score);
    const std::uint32_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
    return (std::uint64_t{ordered} << 32U) | (places - place);
}

}  // namespace sluice

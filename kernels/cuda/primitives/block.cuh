#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Operations of all threads of a warp or a block.
namespace sluice {

constexpr std::uint32_t every_lane = 0xFFFFFFFF;
constexpr std::uint32_t warp_lanes = 32;

[[nodiscard]] __device__ inline std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

/// Sum over a warp, in every lane. All lanes call.
template <class T>
[[nodiscard]] __device__ __forceinline__ T sum_of_warp(T value) {
#pragma unroll
    for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
        value += __shfl_xor_sync(every_lane, value, apart);
    }
    return value;
}

/// The same for numbers below 2^48, in fewer instructions.
[[nodiscard]] __device__ __forceinline__ unsigned long long sum_of_warp_weights(unsigned long long value) {
    constexpr std::uint32_t low_bits = 24;
    const std::uint32_t low = static_cast<std::uint32_t>(value) & ((1U << low_bits) - 1);
    const auto high = static_cast<std::uint32_t>(value >> low_bits);
    return (std::uint64_t{__reduce_add_sync(every_lane, high)} << low_bits) + __reduce_add_sync(every_lane, low);
}

/// Largest of a warp, in every lane; a NaN counts only if all are. All lanes call.
[[nodiscard]] __device__ __forceinline__ float largest_of_warp(float value) {
#pragma unroll
    for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
        value = fmaxf(value, __shfl_xor_sync(every_lane, value, apart));
    }
    return value;
}

/// Sum of a warp's lanes up to the own one. All lanes call.
template <class T>
[[nodiscard]] __device__ __forceinline__ T sum_up_to_lane(T value) {
#pragma unroll
    for (std::uint32_t apart = 1; apart < warp_lanes; apart *= 2) {
        const T other = __shfl_up_sync(every_lane, value, apart);
        value += threadIdx.x % warp_lanes >= apart ? other : 0;
    }
    return value;
}

/// Inclusive prefix sums over a block of `threads`, all of which call.
template <std::uint32_t threads>
class BlockScan {
public:
    /// `shared`: threads / 32 words, used by nothing else.
    __device__ explicit BlockScan(std::uint32_t* shared) : shared_(shared) {}

    __device__ std::uint32_t up_to(std::uint32_t value) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        value = sum_up_to_lane(value);
        if (lane == warp_lanes - 1) {
            shared_[warp] = value;
        }
        __syncthreads();
        std::uint32_t before = 0;
        all_ = 0;
        for (std::uint32_t i = 0; i < threads / warp_lanes; ++i) {
            before += i < warp ? shared_[i] : 0;
            all_ += shared_[i];
        }
        __syncthreads();
        return before + value;
    }

    /// Sum of all values of the last call.
    [[nodiscard]] __device__ std::uint32_t all() const { return all_; }

private:
    std::uint32_t* shared_;
    std::uint32_t all_ = 0;
};

}  // namespace sluice

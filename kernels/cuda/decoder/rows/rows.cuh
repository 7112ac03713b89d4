#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

/// Kernels of which each warp takes a row after another.
namespace sluice::decoder {

constexpr std::uint32_t row_threads = 128;
constexpr std::uint32_t row_warps = row_threads / warp_lanes;
constexpr std::uint32_t most_row_blocks = 16 * hopper_multiprocessors;

/// Waits for the previous kernel, and then calls use(r, lane) for every row r of the warp; there are `*rows`, in device
/// memory.
template <class Use>
__device__ __forceinline__ void for_each_row_of_warp(const std::uint32_t* rows, const Use& use) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t count = *rows;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t first = (blockIdx.x * row_threads + threadIdx.x) / warp_lanes;
    const std::uint32_t step = gridDim.x * row_warps;
    for (std::uint32_t r = first; r < count; r += step) {
        use(r, lane);
    }
}

/// Copies `count` values by a warp, four pieces of 16 bytes in flight at a time, unless they are fp32 and not so
/// aligned; 16-bit values come in multiples of 8.
template <class T>
__device__ void copy_by_warp(T* to, const T* from, std::uint32_t count) {
    constexpr std::uint32_t piece = 16 / sizeof(T);
    constexpr std::uint32_t together = 4;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    if constexpr (std::is_same_v<T, float>) {
        const std::uintptr_t places = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
        if (places % 16 != 0 || count % piece != 0) {
            for (std::uint32_t i = lane; i < count; i += warp_lanes) {
                to[i] = from[i];
            }
            return;
        }
    }
    for (std::uint32_t first = lane * piece; first < count; first += together * warp_lanes * piece) {
        uint4 pieces[together];
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) {
            const std::uint32_t at = first + i * warp_lanes * piece;
            pieces[i] = at < count ? load_16(from + at) : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) {
            const std::uint32_t at = first + i * warp_lanes * piece;
            if (at < count) {
                *reinterpret_cast<uint4*>(to + at) = pieces[i];
            }
        }
    }
}

inline LaunchShape for_warps(std::uint32_t rows) {
    return {.blocks = blocks_for(rows, row_warps, most_row_blocks), .threads = row_threads, .chained = true};
}

}  // namespace sluice::decoder

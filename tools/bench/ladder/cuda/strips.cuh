#pragma once

#include <cstdint>

#include "tools/bench/ladder/cuda/fp32.cuh"

/// Shared by rungs 4 to 7: a block of 512 threads computes 64 x 64 elements, loading steps of depth 8 into shared
/// memory, one element of a and one of b per thread.
namespace sluice::ladder::strips {

constexpr std::uint32_t tile = 64;
constexpr std::uint32_t depth = 8;
constexpr std::uint32_t length = 8;  // of a thread's strip
constexpr std::uint32_t threads = tile * tile / length;

struct Shared {
    float a[tile][depth];
    float b[depth][tile];
};

__device__ __forceinline__ void load(Shared& shared, const Size& size, const float* a, const float* b,
                                     std::uint32_t first) {
    const std::uint32_t row = threadIdx.x / depth;
    const std::uint32_t column = threadIdx.x % tile;
    const std::uint32_t k_a = threadIdx.x % depth;
    const std::uint32_t k_b = threadIdx.x / tile;
    shared.a[row][k_a] = a[std::size_t{blockIdx.y * tile + row} * size.k + first + k_a];
    shared.b[k_b][column] = b[std::size_t{first + k_b} * size.n + blockIdx.x * tile + column];
}

}  // namespace sluice::ladder::strips

// 3, shared memory: a block brings 32 by 32 elements of a and of b, and each is used 32 times from there. Loads from
// further away than the multiprocessor become 32 times fewer.
#include "tools/bench/ladder/cuda/fp32.cuh"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t side = 32;

__global__ void multiply_shared(Size size, const float* a, const float* b, float* out) {
    __shared__ float of_a[side][side];
    __shared__ float of_b[side][side];
    const std::uint32_t y = threadIdx.x / side;
    const std::uint32_t x = threadIdx.x % side;
    const std::uint32_t row = blockIdx.y * side + y;
    const std::uint32_t column = blockIdx.x * side + x;
    float sum = 0;
    for (std::uint32_t first = 0; first < size.k; first += side) {
        of_a[y][x] = row < size.m && first + x < size.k ? a[std::size_t{row} * size.k + first + x] : 0;
        of_b[y][x] = column < size.n && first + y < size.k ? b[std::size_t{first + y} * size.n + column] : 0;
        __syncthreads();
        for (std::uint32_t k = 0; k < side; ++k) {
            sum += of_a[y][k] * of_b[k][x];
        }
        __syncthreads();
    }
    if (row < size.m && column < size.n) {
        out[std::size_t{row} * size.n + column] = sum;
    }
}

}  // namespace

const Rung rung_03_shared{3,         "shared memory", Precision::fp32,
                          {1, 1, 1}, false,           &in_tiles<&multiply_shared, side, side, side * side>};

}  // namespace sluice::ladder

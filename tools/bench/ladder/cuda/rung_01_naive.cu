// 1, naive: a thread computes one element, and neighbours in a warp lie in one column. Each of their loads of a, and
// each store, touches a row of its own: 32 sectors of 32 bytes move for what fits into four.
#include "tools/bench/ladder/cuda/fp32.cuh"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t side = 32;

__global__ void multiply_naive(Size size, const float* a, const float* b, float* out) {
    const std::uint32_t row = blockIdx.y * side + threadIdx.x % side;
    const std::uint32_t column = blockIdx.x * side + threadIdx.x / side;
    if (row >= size.m || column >= size.n) {
        return;
    }
    float sum = 0;
    for (std::uint32_t k = 0; k < size.k; ++k) {
        sum += a[std::size_t{row} * size.k + k] * b[std::size_t{k} * size.n + column];
    }
    out[std::size_t{row} * size.n + column] = sum;
}

}  // namespace

const Rung rung_01_naive{1,         "naive", Precision::fp32,
                         {1, 1, 1}, false,   &in_tiles<&multiply_naive, side, side, side * side>};

}  // namespace sluice::ladder

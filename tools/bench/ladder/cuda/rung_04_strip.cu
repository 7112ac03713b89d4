// 4, a strip a thread: each computes eight elements, 8 rows apart. A block holds 64 by 64 elements, so what it brings
// is used 64 times; but for each product both factors still come from shared memory.
#include "tools/bench/ladder/cuda/strips.cuh"

namespace sluice::ladder {
namespace {

using namespace strips;

__global__ void multiply_strip(Size size, const float* a, const float* b, float* out) {
    __shared__ Shared shared;
    const std::uint32_t column = threadIdx.x % tile;
    const std::uint32_t row = threadIdx.x / tile;
    float sums[length] = {};
    for (std::uint32_t first = 0; first < size.k; first += depth) {
        load(shared, size, a, b, first);
        __syncthreads();
        for (std::uint32_t i = 0; i < length; ++i) {
            for (std::uint32_t k = 0; k < depth; ++k) {
                sums[i] += shared.a[row + i * length][k] * shared.b[k][column];
            }
        }
        __syncthreads();
    }
    for (std::uint32_t i = 0; i < length; ++i) {
        out[std::size_t{blockIdx.y * tile + row + i * length} * size.n + blockIdx.x * tile + column] = sums[i];
    }
}

}  // namespace

const Rung rung_04_strip{
    4, "strip a thread", Precision::fp32, {tile, tile, depth}, false, &in_tiles<&multiply_strip, tile, tile, threads>};

}  // namespace sluice::ladder

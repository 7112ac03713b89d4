// 7, a strip of a column: a thread's eight elements lie in one column. One element of b is kept in a register; those of
// a are the same for a whole warp, which shared memory serves as one. Neighbours load and store beside each other.
#include "tools/bench/ladder/cuda/strips.cuh"

namespace sluice::ladder {
namespace {

using namespace strips;

__global__ void multiply_column(Size size, const float* a, const float* b, float* out) {
    __shared__ Shared shared;
    const std::uint32_t column = threadIdx.x % tile;
    const std::uint32_t row = threadIdx.x / tile * length;
    float sums[length] = {};
    for (std::uint32_t first = 0; first < size.k; first += depth) {
        load(shared, size, a, b, first);
        __syncthreads();
        for (std::uint32_t k = 0; k < depth; ++k) {
            const float one = shared.b[k][column];
            for (std::uint32_t i = 0; i < length; ++i) {
                sums[i] += shared.a[row + i][k] * one;
            }
        }
        __syncthreads();
    }
    for (std::uint32_t i = 0; i < length; ++i) {
        out[std::size_t{blockIdx.y * tile + row + i} * size.n + blockIdx.x * tile + column] = sums[i];
    }
}

}  // namespace

const Rung rung_07_column{7,
                          "strip of a column",
                          Precision::fp32,
                          {tile, tile, depth},
                          false,
                          &in_tiles<&multiply_column, tile, tile, threads>};

}  // namespace sluice::ladder

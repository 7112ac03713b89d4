// 8, a square a thread: each computes 8 by 8 elements, so that 16 loads from shared memory serve 64 products. Four
// times the work a thread needs four times fewer threads: 256 for 128 by 128 elements.
#include "tools/bench/ladder/cuda/fp32.cuh"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t tile = 128;
constexpr std::uint32_t depth = 8;
constexpr std::uint32_t side = 8;
constexpr std::uint32_t threads = tile * tile / (side * side);

__global__ void __launch_bounds__(threads) multiply_square(Size size, const float* a, const float* b, float* out) {
    __shared__ float of_a[tile][depth];
    __shared__ float of_b[depth][tile];
    const std::uint32_t row = threadIdx.x / (tile / side) * side;
    const std::uint32_t column = threadIdx.x % (tile / side) * side;
    a += std::size_t{blockIdx.y * tile} * size.k;
    b += blockIdx.x * tile;
    float sums[side][side] = {};
    for (std::uint32_t first = 0; first < size.k; first += depth) {
        for (std::uint32_t i = threadIdx.x; i < tile * depth; i += threads) {
            of_a[i / depth][i % depth] = a[std::size_t{i / depth} * size.k + first + i % depth];
            of_b[i / tile][i % tile] = b[std::size_t{first + i / tile} * size.n + i % tile];
        }
        __syncthreads();
        for (std::uint32_t k = 0; k < depth; ++k) {
            float of_row[side];
            float of_column[side];
            for (std::uint32_t i = 0; i < side; ++i) {
                of_row[i] = of_a[row + i][k];
                of_column[i] = of_b[k][column + i];
            }
            for (std::uint32_t i = 0; i < side; ++i) {
                for (std::uint32_t j = 0; j < side; ++j) {
                    sums[i][j] += of_row[i] * of_column[j];
                }
            }
        }
        __syncthreads();
    }
    for (std::uint32_t i = 0; i < side; ++i) {
        for (std::uint32_t j = 0; j < side; ++j) {
            out[std::size_t{blockIdx.y * tile + row + i} * size.n + blockIdx.x * tile + column + j] = sums[i][j];
        }
    }
}

}  // namespace

const Rung rung_08_square{8,
                          "square a thread",
                          Precision::fp32,
                          {tile, tile, depth},
                          false,
                          &in_tiles<&multiply_square, tile, tile, threads>};

}  // namespace sluice::ladder

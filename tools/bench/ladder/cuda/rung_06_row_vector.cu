// 6, a strip of a row in vectors: the eight elements lie beside each other, four to a load or store of 16 bytes: three
// loads from shared memory for eight products, two stores for eight results.
#include "tools/bench/ladder/cuda/strips.cuh"

namespace sluice::ladder {
namespace {

using namespace strips;

__global__ void multiply_row_vector(Size size, const float* a, const float* b, float* out) {
    __shared__ alignas(16) Shared shared;
    const std::uint32_t column = threadIdx.x % (tile / length) * length;
    const std::uint32_t row = threadIdx.x / (tile / length);
    float sums[length] = {};
    for (std::uint32_t first = 0; first < size.k; first += depth) {
        load(shared, size, a, b, first);
        __syncthreads();
        for (std::uint32_t k = 0; k < depth; ++k) {
            const float one = shared.a[row][k];
            for (std::uint32_t i = 0; i < length; i += 4) {
                const float4 four = *reinterpret_cast<const float4*>(&shared.b[k][column + i]);
                sums[i] += one * four.x;
                sums[i + 1] += one * four.y;
                sums[i + 2] += one * four.z;
                sums[i + 3] += one * four.w;
            }
        }
        __syncthreads();
    }
    float* const to = out + std::size_t{blockIdx.y * tile + row} * size.n + blockIdx.x * tile + column;
    for (std::uint32_t i = 0; i < length; i += 4) {
        *reinterpret_cast<float4*>(to + i) = {sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
    }
}

}  // namespace

const Rung rung_06_row_vector{6,
                              "strip of a row, vectors",
                              Precision::fp32,
                              {tile, tile, depth},
                              false,
                              &in_tiles<&multiply_row_vector, tile, tile, threads>};

}  // namespace sluice::ladder

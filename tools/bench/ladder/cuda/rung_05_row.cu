// 5, a strip of a row: a thread's eight elements lie in one row, so that one element of a, kept in a register, is used
// for all eight: nine loads from shared memory for eight products instead of sixteen.
#include "tools/bench/ladder/cuda/strips.cuh"

namespace sluice::ladder {
namespace {

using namespace strips;

__global__ void multiply_row(Size size, const float* a, const float* b, float* out) {
    __shared__ Shared shared;
    const std::uint32_t column = threadIdx.x % (tile / length);
    const std::uint32_t row = threadIdx.x / (tile / length);
    float sums[length] = {};
    for (std::uint32_t first = 0; first < size.k; first += depth) {
        load(shared, size, a, b, first);
        __syncthreads();
        for (std::uint32_t k = 0; k < depth; ++k) {
            const float one = shared.a[row][k];
            for (std::uint32_t i = 0; i < length; ++i) {
                sums[i] += one * shared.b[k][column + i * (tile / length)];
            }
        }
        __syncthreads();
    }
    for (std::uint32_t i = 0; i < length; ++i) {
        out[std::size_t{blockIdx.y * tile + row} * size.n + blockIdx.x * tile + column + i * (tile / length)] = sums[i];
    }
}

}  // namespace

const Rung rung_05_row{
    5, "strip of a row", Precision::fp32, {tile, tile, depth}, false, &in_tiles<&multiply_row, tile, tile, threads>};

}  // namespace sluice::ladder

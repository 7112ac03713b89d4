#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/mma.cuh"
#include "tools/bench/mma_limit.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint32_t threads = 128;
constexpr std::uint32_t blocks_per_processor = 2;
constexpr std::uint32_t rounds = 2048;
constexpr int down = 4;  // products with sums per warp: enough to hide one's latency
constexpr int across = 8;
constexpr float no_sum = 0.1234567F;

/// Values of both signs with magnitudes between 0.5 and 1.
template <Precision precision>
__device__ std::uint32_t random_word(std::uint32_t number) {
    std::uint32_t bits = (blockIdx.x * threads + threadIdx.x) * 0x9e3779b9U + number * 0x85ebca6bU;
    bits = (bits ^ bits >> 15) * 0x2c1b3c6dU;
    bits ^= bits >> 13;
    return precision == Precision::bf16   ? (bits & 0x807f807fU) | 0x3f003f00U
           : precision == Precision::fp16 ? (bits & 0x83ff83ffU) | 0x38003800U
                                          : (bits & 0x807fe000U) | 0x3f000000U;
}

template <Precision precision>
__global__ void __launch_bounds__(threads, blocks_per_processor) multiply_registers(float* out) {
    std::uint32_t a[down][4];
    std::uint32_t b[across][2];
    float sums[down][across][4] = {};
    std::uint32_t number = 0;
    for (auto& product : a) {
        for (std::uint32_t& word : product) {
            word = random_word<precision>(number++);
        }
    }
    for (auto& product : b) {
        for (std::uint32_t& word : product) {
            word = random_word<precision>(number++);
        }
    }
    for (std::uint32_t round = 0; round < rounds; ++round) {
#pragma unroll
        for (int m = 0; m < down; ++m) {
#pragma unroll
            for (int n = 0; n < across; ++n) {
                mma::multiply<precision>(sums[m][n], a[m], b[n][0], b[n][1]);
            }
        }
    }
    float sum = 0;
    for (const auto& row : sums) {
        for (const auto& product : row) {
            for (const float value : product) {
                sum += value;
            }
        }
    }
    if (sum == no_sum) {  // never, but the compiler does not know
        *out = sum;
    }
}

std::uint32_t processors() {
    int device = 0;
    int count = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return static_cast<std::uint32_t>(count);
}

}  // namespace

MmaLimit::MmaLimit(Precision precision) : precision_(precision), blocks_(processors() * blocks_per_processor) {}

void MmaLimit::enqueue(cudaStream_t stream) const {
    launch(precision_ == Precision::bf16   ? &multiply_registers<Precision::bf16>
           : precision_ == Precision::fp16 ? &multiply_registers<Precision::fp16>
                                           : &multiply_registers<Precision::tf32>,
           "products from registers", {.blocks = blocks_, .threads = threads}, stream, out_.as<float>());
}

double MmaLimit::flop() const noexcept {
    const double k = element_bytes(precision_) == 2 ? 16 : 8;
    return 2.0 * 16 * 8 * k * down * across * rounds * blocks_ * (threads / 32);
}

}  // namespace sluice::bench

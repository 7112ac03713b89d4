#include "kernels/cuda/launch.hpp"
#include "tests/kernels/cuda/philox_on_gpu.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t block_threads = 128;

__global__ void draw_words(std::uint64_t seed, const Draw* draws, std::uint32_t count, Random128* out) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = random_words(seed, draws[i]);
    }
}

__global__ void make_uniform(const std::uint32_t* words, std::uint32_t count, float* out) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = uniform_below_one(words[i]);
    }
}

LaunchShape threads(std::uint32_t count) {
    return {.blocks = (count + block_threads - 1) / block_threads, .threads = block_threads};
}

}  // namespace

void enqueue_random_words(std::uint64_t seed, const Draw* draws, std::uint32_t count, Random128* out) {
    launch(&draw_words, "random words", threads(count), nullptr, seed, draws, count, out);
}

void enqueue_uniforms(const std::uint32_t* words, std::uint32_t count, float* out) {
    launch(&make_uniform, "uniform numbers", threads(count), nullptr, words, count, out);
}

}  // namespace sluice

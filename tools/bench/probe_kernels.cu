#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "tools/bench/probe_kernels.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint32_t reading_threads = 1024;
constexpr std::uint32_t loads_in_flight = 4;

__global__ void __launch_bounds__(reading_threads) read_memory(const uint4* memory, std::size_t count) {
    const std::size_t stride = std::size_t{gridDim.x} * reading_threads;
    std::size_t at = std::size_t{blockIdx.x} * reading_threads + threadIdx.x;
    std::uint32_t bits = 0;
    for (; at + (loads_in_flight - 1) * stride < count; at += loads_in_flight * stride) {
        uint4 loaded[loads_in_flight];
#pragma unroll
        for (std::uint32_t i = 0; i < loads_in_flight; ++i) {
            loaded[i] = __ldcs(memory + at + i * stride);
        }
#pragma unroll
        for (const uint4& piece : loaded) {
            bits |= piece.x | piece.y | piece.z | piece.w;
        }
    }
    for (; at < count; at += stride) {
        bits |= __ldcs(memory + at).x;
    }
    if (bits == 0) {  // never true, as the memory is not zero, but the compiler cannot know
        asm volatile("trap;");
    }
}

__global__ void begin_countdown(Countdown* countdown, std::uint32_t rounds) {
    *countdown = {.left = rounds, .more = rounds > 0};
}

__global__ void count_down(Countdown* countdown) {
    ptx::wait_for_previous_kernel();
    countdown->more = --countdown->left > 0 ? 1 : 0;
}

__global__ void do_nothing() {
    ptx::wait_for_previous_kernel();
}

}  // namespace

void enqueue_memory_read(std::span<const std::byte> memory, std::uint32_t blocks, cudaStream_t stream) {
    int device = 0;
    int shared_bytes = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
               "cudaDeviceGetAttribute");
    check_cuda(cudaFuncSetAttribute(read_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
               "cudaFuncSetAttribute");
    launch(read_memory, "memory read",
           {.blocks = blocks, .threads = reading_threads, .shared_bytes = static_cast<std::size_t>(shared_bytes)},
           stream, reinterpret_cast<const uint4*>(memory.data()), memory.size() / sizeof(uint4));
}

void enqueue_begin_countdown(Countdown* countdown, std::uint32_t rounds, cudaStream_t stream) {
    launch(begin_countdown, "countdown", {.blocks = 1, .threads = 1}, stream, countdown, rounds);
}

void enqueue_count_down(Countdown* countdown, cudaStream_t stream) {
    launch(count_down, "countdown", {.blocks = 1, .threads = 1, .chained = true}, stream, countdown);
}

void enqueue_nothing(std::uint32_t blocks, bool chained, cudaStream_t stream) {
    launch(do_nothing, "nothing", {.blocks = blocks, .threads = 128, .chained = chained}, stream);
}

}  // namespace sluice::bench

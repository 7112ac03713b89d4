#include "kernels/cuda/certifier/recompute.hpp"

#include "kernels/cuda/launch.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t gather_threads = 128;
constexpr std::uint32_t merge_threads = 1024;

/// One block per item.
__global__ void __launch_bounds__(gather_threads) gather(RecomputeSizes sizes, RecomputeMemory memory) {
    const std::uint32_t place = memory.state->done + blockIdx.x;
    const bool filled = place < memory.state->chosen;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        memory.state->active = min(memory.state->chosen - place, sizes.batch);
    }
    const std::byte* from = memory.in + std::size_t{filled ? memory.chosen[place] : 0} * sizes.input_bytes;
    std::byte* to = memory.batch_in + std::size_t{blockIdx.x} * sizes.input_bytes;
    for (std::uint32_t i = threadIdx.x; i < sizes.input_bytes; i += gather_threads) {
        to[i] = filled ? from[i] : std::byte{0};
    }
}

/// One block: only it knows when all of the batch is merged.
__global__ void __launch_bounds__(merge_threads) merge(RecomputeSizes sizes, RecomputeMemory memory) {
    const std::uint32_t done = memory.state->done;
    const std::uint32_t count = min(memory.state->chosen - done, sizes.batch);
    const std::uint32_t words = sizes.result_bytes / 4;
    const std::uint64_t all = std::uint64_t{count} * words;
    for (std::uint64_t i = threadIdx.x; i < all; i += merge_threads) {
        const auto place = static_cast<std::uint32_t>(i / words);
        const auto word = static_cast<std::uint32_t>(i % words);
        const auto* const from =
            reinterpret_cast<const std::uint32_t*>(memory.batch_out + std::size_t{place} * sizes.exact_bytes);
        auto* const to = reinterpret_cast<std::uint32_t*>(memory.out + std::size_t{memory.chosen[done + place]} *
                                                                           sizes.result_bytes);
        to[word] = from[word];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        memory.state->done = done + count;
        memory.state->total += count;
        memory.state->more = done + count < memory.state->chosen ? 1 : 0;
    }
}

}  // namespace

void enqueue_gather(const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t stream) {
    launch(&gather, "certify: gather", {.blocks = sizes.batch, .threads = gather_threads}, stream, sizes, memory);
}

void enqueue_merge(const RecomputeSizes& sizes, const RecomputeMemory& memory, cudaStream_t stream) {
    launch(&merge, "certify: merge", {.blocks = 1, .threads = merge_threads}, stream, sizes, memory);
}

}  // namespace sluice

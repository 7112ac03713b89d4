#include "kernels/cuda/certify.hpp"
#include "kernels/cuda/launch.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t block_threads = 1024;
constexpr std::uint32_t block_warps = block_threads / 32;
constexpr std::uint32_t gather_threads = 128;

/// Writes item's result as the fast model has it, and says whether its label is uncertain: a gap that is no number is.
__device__ bool write_guess(const CertifySizes& sizes, const CertifyMemory& memory, std::uint32_t item) {
    const std::int32_t* guess = memory.guesses + std::size_t{item} * (1 + sizes.classes);
    std::int32_t* result = memory.out + std::size_t{item} * (1 + (sizes.scores ? sizes.classes : 0));
    float best = 0;
    float second = -INFINITY;
    std::uint32_t best_class = 0;
    float largest = 0;
    bool numbers = true;
    for (std::uint32_t c = 0; c < sizes.classes; ++c) {
        const float score = __int_as_float(guess[1 + c]) + memory.margin[c];
        numbers = numbers && isfinite(score);
        largest = fmaxf(largest, fabsf(score));
        if (c == 0 || score > best) {
            second = c == 0 ? second : best;
            best = score;
            best_class = c;
        } else {
            second = fmaxf(second, score);
        }
        if (sizes.scores) {
            result[1 + c] = __float_as_int(score);
        }
    }
    result[0] = static_cast<std::int32_t>(best_class);
    const float bound = memory.margin[sizes.classes];
    const float usual = memory.margin[sizes.classes + 1];
    return !numbers || !(best - second >= bound * (usual + largest));
}

/// One block, so that the numbers come in order, and with them the batches: the same in every run.
__global__ void __launch_bounds__(block_threads) choose(CertifySizes sizes, CertifyMemory memory) {
    __shared__ std::uint32_t warp_ends[block_warps];
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t present = memory.active == nullptr ? sizes.items : *memory.active;
    std::uint32_t before = 0;  // chosen in the rounds before
    for (std::uint32_t first = 0; first < sizes.items; first += block_threads) {
        const std::uint32_t item = first + threadIdx.x;
        const bool uncertain = item < sizes.items && write_guess(sizes, memory, item) && item < present;
        const std::uint32_t votes = __ballot_sync(~0U, uncertain);
        if (lane == 0) {
            warp_ends[warp] = __popc(votes);
        }
        __syncthreads();
        if (warp == 0) {
            std::uint32_t end = warp_ends[lane];
            for (std::uint32_t offset = 1; offset < block_warps; offset *= 2) {
                const std::uint32_t left = __shfl_up_sync(~0U, end, offset);
                end += lane >= offset ? left : 0;
            }
            warp_ends[lane] = end;
        }
        __syncthreads();
        if (uncertain) {
            const std::uint32_t warp_begin = warp == 0 ? 0 : warp_ends[warp - 1];
            memory.chosen[before + warp_begin + __popc(votes & ((1U << lane) - 1))] = item;
        }
        before += warp_ends[block_warps - 1];
        __syncthreads();  // before the next round writes warp_ends
    }
    if (threadIdx.x == 0) {
        memory.state->chosen = before;
        memory.state->done = 0;
        memory.state->more = before != 0 ? 1 : 0;
    }
}
static_assert(block_warps == 32, "the warps' counts are added up by one warp");

/// A block an item.
__global__ void __launch_bounds__(gather_threads) gather(CertifySizes sizes, CertifyMemory memory) {
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
__global__ void __launch_bounds__(block_threads) merge(CertifySizes sizes, CertifyMemory memory) {
    const std::uint32_t done = memory.state->done;
    const std::uint32_t count = min(memory.state->chosen - done, sizes.batch);
    const std::uint32_t from_words = 1 + sizes.classes;
    const std::uint32_t to_words = 1 + (sizes.scores ? sizes.classes : 0);
    for (std::uint32_t i = threadIdx.x; i < count; i += block_threads) {
        const std::int32_t* from = memory.batch_out + std::size_t{i} * from_words;
        std::int32_t* to = memory.out + std::size_t{memory.chosen[done + i]} * to_words;
        for (std::uint32_t word = 0; word < to_words; ++word) {
            to[word] = from[word];
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        memory.state->done = done + count;
        memory.state->total += count;
        memory.state->more = done + count < memory.state->chosen ? 1 : 0;
    }
}

}  // namespace

void enqueue_choose(const CertifySizes& sizes, const CertifyMemory& memory, cudaStream_t stream) {
    launch(&choose, "certify", {.blocks = 1, .threads = block_threads}, stream, sizes, memory);
}

void enqueue_gather(const CertifySizes& sizes, const CertifyMemory& memory, cudaStream_t stream) {
    launch(&gather, "certify: gather", {.blocks = sizes.batch, .threads = gather_threads}, stream, sizes, memory);
}

void enqueue_merge(const CertifySizes& sizes, const CertifyMemory& memory, cudaStream_t stream) {
    launch(&merge, "certify: merge", {.blocks = 1, .threads = block_threads}, stream, sizes, memory);
}

}  // namespace sluice

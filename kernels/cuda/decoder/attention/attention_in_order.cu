#include "kernels/cuda/decoder/attention/attention.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t ordered_threads = 128;
constexpr std::uint32_t ordered_warps = ordered_threads / warp_lanes;
constexpr std::uint32_t most_ordered_blocks = 8 * hopper_multiprocessors;

extern __shared__ float4 ordered_memory[];

/// The cached positions of a text, in one head of one layer.
class HeadCache {
public:
    __device__ HeadCache(const Memory& memory, const Cache& cache, std::uint32_t layer, std::uint32_t slot,
                         std::uint32_t first)
        : memory_(memory), cache_(cache), layer_(layer), slot_(slot), first_(first) {}

    [[nodiscard]] __device__ __forceinline__ const float* keys(std::uint32_t position) const {
        return cached<float>(cache_, layer_, page_of(memory_, slot_, position), position % page_positions) + first_;
    }
    [[nodiscard]] __device__ __forceinline__ const float* values(std::uint32_t position) const {
        return keys(position) + cache_.width;
    }
    /// Values between one position of a page and the next.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t stride() const { return 2 * cache_.width; }

private:
    const Memory& memory_;
    const Cache& cache_;
    std::uint32_t layer_;
    std::uint32_t slot_;
    std::uint32_t first_;
};

/// Sum of by[i] * row[i], in that order.
__device__ __forceinline__ float dot_in_order(const float* by, const float* row, std::uint32_t count) {
    float sum = 0;
    std::uint32_t i = 0;
    if (reinterpret_cast<std::uintptr_t>(row) % 16 == 0) {
        for (; i + 4 <= count; i += 4) {
            const float4 four = *reinterpret_cast<const float4*>(row + i);
            sum = __fadd_rn(sum, __fmul_rn(four.x, by[i]));
            sum = __fadd_rn(sum, __fmul_rn(four.y, by[i + 1]));
            sum = __fadd_rn(sum, __fmul_rn(four.z, by[i + 2]));
            sum = __fadd_rn(sum, __fmul_rn(four.w, by[i + 3]));
        }
    }
    for (; i < count; ++i) {
        sum = __fadd_rn(sum, __fmul_rn(row[i], by[i]));
    }
    return sum;
}

/// Attention of a row in one head, by a warp: scores of 32 positions at a time, one per lane; then two values of the
/// head per lane. `weights`: shared memory for all positions, `query` for the head; `to` is a row, of which the head
/// begins at `at`.
template <Kept kept>
__device__ void attend(const HeadCache& head, const Attention& attention, const float* from, std::uint32_t positions,
                       float* weights, float* query, float* to, std::uint32_t at) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    for (std::uint32_t i = lane; i < attention.head_size; i += warp_lanes) {
        query[i] = from[i];
    }
    __syncwarp();
    float largest = -INFINITY;
    for (std::uint32_t p = lane; p < positions; p += warp_lanes) {
        const float score = dot_in_order(query, head.keys(p), attention.head_size);
        weights[p] = score;
        largest = score > largest ? score : largest;
    }
#pragma unroll
    for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
        const float other = __shfl_xor_sync(every_lane, largest, apart);
        largest = other > largest ? other : largest;
    }
    for (std::uint32_t p = lane; p < positions; p += warp_lanes) {
        weights[p] = ordered::exp_of(__fmul_rn(__fadd_rn(weights[p], -largest), attention.scale));
    }
    __syncwarp();
    float sum = 0;
    for (std::uint32_t p = 0; p < positions; ++p) {
        sum = __fadd_rn(sum, weights[p]);
    }
    for (std::uint32_t d = lane; d < attention.head_size; d += 2 * warp_lanes) {
        const bool has_second = d + warp_lanes < attention.head_size;
        float mixed[2] = {};
        for (std::uint32_t first = 0; first < positions; first += page_positions) {
            const float* value = head.values(first) + d;
            const std::uint32_t count = min(page_positions, positions - first);
#pragma unroll 4
            for (std::uint32_t p = 0; p < count; ++p, value += head.stride()) {
                const float weight = weights[first + p];
                mixed[0] = __fadd_rn(mixed[0], __fmul_rn(value[0], weight));
                if (has_second) {
                    mixed[1] = __fadd_rn(mixed[1], __fmul_rn(value[warp_lanes], weight));
                }
            }
        }
        keep<kept>(to, attention.out_stride, at + d, __fdiv_rn(mixed[0], sum));
        if (has_second) {
            keep<kept>(to, attention.out_stride, at + d + warp_lanes, __fdiv_rn(mixed[1], sum));
        }
    }
    __syncwarp();  // the weights are read before the next row writes them
}

template <Kept kept>
__global__ void __launch_bounds__(ordered_threads)
    attend_in_order(Memory memory, Attention attention, Cache cache, std::uint32_t layer, Attending attending) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t count = attending == Attending::wanted ? batch.entries : batch.rows;
    const std::uint32_t warp_floats = (attention.positions + attention.head_size + 3) / 4 * 4;
    float* const weights = reinterpret_cast<float*>(ordered_memory) + threadIdx.x / warp_lanes * warp_floats;
    const std::uint64_t all = std::uint64_t{count} * attention.heads;
    const std::uint64_t step = std::uint64_t{gridDim.x} * (blockDim.x / warp_lanes);
    for (std::uint64_t i = (blockIdx.x * blockDim.x + threadIdx.x) / warp_lanes; i < all; i += step) {
        const auto number = static_cast<std::uint32_t>(i / attention.heads);
        const auto head = static_cast<std::uint32_t>(i % attention.heads);
        const std::uint32_t at = head * attention.head_size;
        const std::uint32_t r = attending == Attending::wanted ? memory.entries[number].last_row() : number;
        const Row row = memory.rows[r];
        attend<kept>(HeadCache(memory, cache, layer, row.slot, attention.key_head(head) * attention.head_size),
                     attention, static_cast<const float*>(attention.queries) + std::size_t{r} * attention.stride + at,
                     max(row.position + 1, prefix_of(memory, attention, row.slot)), weights,
                     weights + attention.positions,
                     static_cast<float*>(attention.out) + std::size_t{number} * attention.out_stride, at);
    }
}

void enqueue_attention_in_order(const Memory& memory, Precision precision, const Attention& attention,
                                const Cache& cache, std::uint32_t layer, Attending attending, cudaStream_t stream) {
    const auto kernel = precision == Precision::tf32     ? &attend_in_order<Kept::tf32>
                        : precision == Precision::tf32x3 ? &attend_in_order<Kept::half_parts>
                        : precision == Precision::fp16x2 ? &attend_in_order<Kept::half_codes>
                                                         : &attend_in_order<Kept::as_is>;
    const std::uint32_t of_warp =
        (attention.positions + attention.head_size + 3) / 4 * 4 * static_cast<std::uint32_t>(sizeof(float));
    expects(attending != Attending::continued, "decoder: attention in order is of all rows or of the wanted ones");
    expects(of_warp <= least_shared_bytes, "decoder: attention in order has no room for a text's weights");
    const std::uint32_t warps = std::min(ordered_warps, least_shared_bytes / of_warp);
    const std::uint32_t shared = warps * of_warp;
    allow_shared_bytes(kernel, shared);
    launch(kernel, "attention",
           {.blocks = blocks_for(std::uint64_t{memory.most_rows} * attention.heads, warps, most_ordered_blocks),
            .threads = warps * warp_lanes,
            .shared_bytes = shared,
            .chained = true},
           stream, memory, attention, cache, layer, attending);
}

}  // namespace sluice::decoder

#include <type_traits>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/attention/cached_place.cuh"
#include "kernels/cuda/decoder/attention/quantised_attention.hpp"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t cached_threads = 128;
constexpr std::uint32_t cached_warps = cached_threads / warp_lanes;
constexpr std::uint32_t most_cached_threads = 512;  // of a block that occupies a multiprocessor
constexpr std::uint32_t cached_blocks_at_once = 4 * hopper_multiprocessors;
constexpr std::uint32_t cached_blocks = 4 * cached_blocks_at_once;  // rows differ
constexpr std::uint32_t cached_step = 8;  // positions whose keys and values are loaded together
static_assert(page_positions % cached_step == 0);
constexpr std::uint32_t cached_run = 128;  // positions of a text that a warp attends to by itself, from 0 on
static_assert(cached_run % page_positions == 0);

/// Values in 16 bytes.
template <class T>
constexpr std::uint32_t lane_values = 16 / sizeof(T);

/// What a lane has of its head's attention to some positions. All that is added to it is added by instructions that are
/// rounded in one way: a text's bits must not depend on how the compiler treats each of several copies of this code.
template <std::uint32_t count>
struct CachedSums {
    float mixed[count] = {};    ///< Sums of weighted values.
    float largest = -INFINITY;  ///< Score.
    float sum = 0;              ///< Of weights.

    /// Adds what there is of later positions.
    __device__ __forceinline__ void join(const CachedSums& later) {
        const float both = fmaxf(largest, later.largest);
        const float kept = exp2f(__fadd_rn(largest, -both));  // 0 the first time
        const float of_later = exp2f(__fadd_rn(later.largest, -both));
#pragma unroll
        for (std::uint32_t d = 0; d < count; ++d) {
            mixed[d] = __fmaf_rn(mixed[d], kept, __fmul_rn(later.mixed[d], of_later));
        }
        sum = __fmaf_rn(sum, kept, __fmul_rn(later.sum, of_later));
        largest = both;
    }
};

/// A row's queries in some heads; each lane has 16 bytes of one head.
template <class T, std::uint32_t head_size>
class CachedRow {
public:
    static constexpr std::uint32_t count = lane_values<T>;
    static constexpr std::uint32_t head_lanes = head_size / count;
    static constexpr std::uint32_t heads = warp_lanes / head_lanes;  // per warp
    using Sums = CachedSums<count>;

    /// `from`: the row's query, in the lane's head and from the lane's first value on.
    __device__ __forceinline__ CachedRow(const T* from, float scale) {
        values::unpack(load_16(from), query_, T{});
#pragma unroll
        for (float& value : query_) {
            value *= scale * ptx::log2_e;
        }
    }

    /// Adds the keys and values of some positions, at most cached_step of them, from the first key, `keys`, on.
    __device__ __forceinline__ void add(Sums& to, const T* keys, std::uint32_t width, std::uint32_t positions) const {
        uint4 key[cached_step];
        uint4 value[cached_step];
#pragma unroll
        for (std::uint32_t i = 0; i < cached_step; ++i) {
            const T* const at = keys + std::size_t{i} * 2 * width;
            key[i] = i < positions ? load_16(at) : uint4{0, 0, 0, 0};
            value[i] = i < positions ? load_16(at + width) : uint4{0, 0, 0, 0};
        }
        float scores[cached_step];
        float largest = to.largest;
#pragma unroll
        for (std::uint32_t i = 0; i < cached_step; ++i) {
            scores[i] = i < positions ? dot(key[i]) : -INFINITY;
            largest = fmaxf(largest, scores[i]);
        }
        const float kept = exp2f(__fadd_rn(to.largest, -largest));  // 0 the first time
        to.largest = largest;
        to.sum = __fmul_rn(to.sum, kept);
#pragma unroll
        for (float& each : to.mixed) {
            each = __fmul_rn(each, kept);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < cached_step; ++i) {
            const float weight = exp2f(__fadd_rn(scores[i], -largest));
            to.sum = __fadd_rn(to.sum, weight);
            float of[count];
            values::unpack(value[i], of, T{});
#pragma unroll
            for (std::uint32_t d = 0; d < count; ++d) {
                to.mixed[d] = __fmaf_rn(weight, of[d], to.mixed[d]);
            }
        }
    }

    /// Stores to values from `at` on of a row of `stride` values.
    template <Kept kept>
    __device__ __forceinline__ static void store(const Sums& sums, T* row, std::uint32_t stride, std::uint32_t at) {
        float out[count];
#pragma unroll
        for (std::uint32_t d = 0; d < count; ++d) {
            out[d] = sums.mixed[d] / sums.sum;
        }
        if constexpr (std::is_same_v<T, float>) {
            keep_4<kept>(row, stride, at, out);
        } else {
            static_assert(kept == Kept::as_is);
            store_8(row + at, out);
        }
    }

private:
    /// Called by all lanes of the head.
    __device__ __forceinline__ float dot(const uint4& key) const {
        float of[count];
        values::unpack(key, of, T{});
        float sum = 0;
#pragma unroll
        for (std::uint32_t d = 0; d < count; ++d) {
            sum = fmaf(query_[d], of[d], sum);
        }
#pragma unroll
        for (std::uint32_t apart = head_lanes / 2; apart > 0; apart /= 2) {
            sum += __shfl_xor_sync(every_lane, sum, apart);
        }
        return sum;
    }

    float query_[count];
};

/// Warps that attend to runs of the same row: one, or all of the block where there are no more rows than blocks run at
/// a time.
class CachedTeam {
public:
    __device__ __forceinline__ explicit CachedTeam(std::uint32_t rows)
        : has_block_(rows <= min(gridDim.x, cached_blocks_at_once)), warps_(has_block_ ? blockDim.x / warp_lanes : 1) {}

    [[nodiscard]] __device__ __forceinline__ bool has_block() const { return has_block_; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t warps() const { return warps_; }
    /// Of this warp.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t place() const {
        return has_block_ ? threadIdx.x / warp_lanes : 0;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t first_row() const {
        return has_block_ ? blockIdx.x : (blockIdx.x * blockDim.x + threadIdx.x) / warp_lanes;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t row_step() const {
        return has_block_ ? gridDim.x : gridDim.x * (blockDim.x / warp_lanes);
    }

private:
    bool has_block_;
    std::uint32_t warps_;
};

extern __shared__ uint4 cached_memory[];  // a lane's CachedSums, for all threads

template <class T, std::uint32_t head_size, Kept kept>
__global__ void __launch_bounds__(most_cached_threads, 1)
    attend_cached(Memory memory, Attention attention, Cache cache, std::uint32_t layer, Attending attending) {
    using CachedHeads = CachedRow<T, head_size>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t first = attending == Attending::continued ? batch.beginning : 0;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t groups = (attention.heads + CachedHeads::heads - 1) / CachedHeads::heads;
    const std::uint32_t all = (batch.entries - first) * groups;
    const CachedTeam team(all);
    auto* const of_threads = reinterpret_cast<typename CachedHeads::Sums*>(cached_memory);
    for (std::uint32_t i = team.first_row(); i < all; i += team.row_step()) {
        const CachedPlace place = place_of(memory, attending, first + i / groups);
        const std::uint32_t head = i % groups * CachedHeads::heads + lane / CachedHeads::head_lanes;
        const bool exists = head < attention.heads;  // lanes without a head repeat the last one
        const std::uint32_t existing = min(head, attention.heads - 1);
        const std::uint32_t part = lane % CachedHeads::head_lanes * CachedHeads::count;
        const std::uint32_t at = existing * head_size + part;
        const std::uint32_t key_at = attention.key_head(existing) * head_size + part;
        const T* const row = static_cast<const T*>(attention.queries) + std::size_t{place.row} * attention.stride;
        if (place.is_new) {  // each lane rereads what it has written itself, as others of its team and keys' heads have
            T* const own =
                cached<T>(cache, layer, page_of(memory, place.slot, place.position), place.position % page_positions) +
                key_at;
            const T* const key = row + attention.query_width() + key_at;
            *reinterpret_cast<uint4*>(own) = load_16(key);
            *reinterpret_cast<uint4*>(own + cache.width) = load_16(key + cache.width);
        }
        const CachedHeads heads(row + at, attention.scale);
        const std::uint32_t positions = place.position + 1;
        const std::uint32_t runs = divide_up(positions, cached_run);
        typename CachedHeads::Sums sums;
        for (std::uint32_t round = 0; round < runs; round += team.warps()) {
            const std::uint32_t run = round + team.place();
            typename CachedHeads::Sums of_run;
            const std::uint32_t end = min(positions, (run + 1) * cached_run);
            for (std::uint32_t p = run * cached_run; p < end; p += cached_step) {
                const std::uint32_t page = page_of(memory, place.slot, p);
                heads.add(of_run, cached<T>(cache, layer, page, p % page_positions) + key_at, cache.width, end - p);
            }
            if (!team.has_block()) {
                sums.join(of_run);
                continue;
            }
            of_threads[threadIdx.x] = of_run;
            __syncthreads();
            for (std::uint32_t j = 0; j < min(team.warps(), runs - round); ++j) {
                sums.join(of_threads[j * warp_lanes + lane]);
            }
            __syncthreads();
        }
        if (exists && team.place() == 0) {
            CachedHeads::template store<kept>(
                sums, static_cast<T*>(attention.out) + std::size_t{place.to} * attention.out_stride,
                attention.out_stride, at);
        }
    }
}

template <class T, Kept kept = Kept::as_is>
auto cached_kernel(std::uint32_t head_size) {
    return head_size == 32   ? &attend_cached<T, 32, kept>
           : head_size == 64 ? &attend_cached<T, 64, kept>
                             : &attend_cached<T, 128, kept>;
}

void enqueue_cached_attention(const Memory& memory, Precision precision, const Attention& attention, const Cache& cache,
                              std::uint32_t layer, Attending attending, cudaStream_t stream) {
    if (cache.kind != KvCache::as_computed) {
        enqueue_quantised_attention(memory, precision, attention, cache, layer, attending, stream);
        return;
    }
    constexpr std::uint32_t thread_bytes = sizeof(CachedSums<lane_values<__half>>);
    static_assert(thread_bytes >= sizeof(CachedSums<lane_values<float>>));
    const auto kernel = precision == Precision::bf16     ? cached_kernel<__nv_bfloat16>(attention.head_size)
                        : precision == Precision::fp16   ? cached_kernel<__half>(attention.head_size)
                        : precision == Precision::tf32x3 ? cached_kernel<float, Kept::half_parts>(attention.head_size)
                        : precision == Precision::fp16x2 ? cached_kernel<float, Kept::half_codes>(attention.head_size)
                                                         : cached_kernel<float, Kept::tf32>(attention.head_size);
    if (attention.multiprocessors != 0) {
        launch(kernel, "attention to the cache",
               {.blocks = attention.multiprocessors,
                .threads = most_cached_threads,
                .shared_bytes = most_cached_threads * thread_bytes,
                .chained = true},
               stream, memory, attention, cache, layer, attending);
        return;
    }
    launch(kernel, "attention to the cache",
           {.blocks = blocks_for(std::uint64_t{memory.most_rows} * attention.heads, cached_warps, cached_blocks),
            .threads = cached_threads,
            .shared_bytes = cached_threads * thread_bytes,
            .chained = true},
           stream, memory, attention, cache, layer, attending);
}

}  // namespace sluice::decoder

#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/attention/cached_place.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t most_cached_in_order_warps = 4;
constexpr std::uint32_t cached_in_order_blocks = 24 * hopper_multiprocessors;  // eight times what run at a time
constexpr std::uint32_t part_positions = 32;  // whose keys, or values, are copied at a time
static_assert(part_positions == 2 * page_positions && part_positions == warp_lanes);

extern __shared__ float4 cached_in_order_memory[];

/// A row in one head, by a warp. Its keys, then its values are copied in parts, each while the previous one is used. Of
/// keys a lane multiplies one, of values it has some places of each.
template <std::uint32_t head_size>
class OrderedHead {
public:
    static constexpr std::uint32_t row_floats = head_size + 4;  // padded: no bank conflicts among eight rows
    static constexpr std::uint32_t part_floats = part_positions * row_floats;

    /// Floats of a warp's shared memory: two parts, the query, a weight for each position.
    [[nodiscard]] static constexpr std::uint32_t floats_for(std::uint32_t positions) {
        return 2 * part_floats + head_size + (positions + part_positions - 1) / part_positions * part_positions;
    }

    /// `shared`: the warp's; `query`: the row's, of the head; `key`: the row's, of the key head, followed by the value
    /// at the cache's width; `at`: where the key head begins in a position of the cache.
    __device__ __forceinline__ OrderedHead(const Memory& memory, const Cache& cache, std::uint32_t layer,
                                           const CachedPlace& place, const float* query, const float* key,
                                           std::uint32_t at, float* shared)
        : memory_(memory),
          cache_(cache),
          layer_(layer),
          place_(place),
          query_(query),
          key_(key),
          at_(at),
          shared_(shared),
          weights_(shared + 2 * part_floats + head_size),
          lane_(threadIdx.x % warp_lanes) {}

    __device__ __forceinline__ void attend(float scale) {
        const std::uint32_t parts = (place_.position + part_positions) / part_positions;
        if (lane_ < row_pieces) {
            ptx::copy_16(ptx::shared_address(shared_) + (2 * part_floats + lane_ * 4) * 4, query_ + lane_ * 4, true);
        }
        copy(0, parts);
        copy(1, parts);
        for (std::uint32_t part = 0; part < 2 * parts; ++part) {
            ptx::wait_for_copies<1>();
            __syncwarp();
            if (part < parts) {
                multiply_keys(part);
            } else {
                if (part == parts) {
                    weigh(scale);
                }
                add_values(part, part - parts);
            }
            __syncwarp();  // the part is read before it is copied to again
            copy(part + 2, parts);
        }
    }

    /// Writes the row's own key and value to the cache.
    __device__ __forceinline__ void write_cache() const {
        float* const own = cached<float>(cache_, layer_, page_of(memory_, place_.slot, place_.position),
                                         place_.position % page_positions) +
                           at_;
        for (std::uint32_t i = lane_; i < 2 * row_pieces; i += warp_lanes) {
            const std::uint32_t number = i / row_pieces;
            const std::uint32_t d = i % row_pieces * 4;
            *reinterpret_cast<float4*>(own + number * cache_.width + d) =
                *reinterpret_cast<const float4*>(key_ + number * cache_.width + d);
        }
    }

    __device__ __forceinline__ void store(float* to) const {
#pragma unroll
        for (std::uint32_t d = 0; d < lane_places; ++d) {
            to[lane_ * lane_places + d] = __fdiv_rn(mixed_[d], sum_);
        }
    }

private:
    static constexpr std::uint32_t row_pieces = head_size / 4;              // of 16 bytes
    static constexpr std::uint32_t lane_places = head_size / warp_lanes;    // of a row of values
    static constexpr std::uint32_t rows_at_once = warp_lanes / row_pieces;  // that a warp copies at a time

    [[nodiscard]] __device__ __forceinline__ std::uint32_t positions_from(std::uint32_t first) const {
        return min(part_positions, place_.position + 1 - first);
    }

    /// Copies part `number` of all, keys before values; always ends a group of copies.
    __device__ __forceinline__ void copy(std::uint32_t number, std::uint32_t parts) const {
        if (number < 2 * parts) {
            const bool values = number >= parts;
            const std::uint32_t first = (values ? number - parts : number) * part_positions;
            const std::uint32_t count = positions_from(first);
            const std::uint32_t pages[] = {
                page_of(memory_, place_.slot, first),
                count > page_positions ? page_of(memory_, place_.slot, first + page_positions) : 0};
            const std::uint32_t piece = lane_ % row_pieces * 4;
            const std::uint32_t to = ptx::shared_address(shared_) + (number % 2 * part_floats + piece) * 4;
            for (std::uint32_t row = lane_ / row_pieces; row < count; row += rows_at_once) {
                const bool own = place_.is_new && first + row == place_.position;
                const float* const from =
                    own ? key_
                        : cached<float>(cache_, layer_, row < page_positions ? pages[0] : pages[1],
                                        row % page_positions) +
                              at_;
                ptx::copy_16(to + row * row_floats * 4, from + (values ? cache_.width : 0) + piece, true);
            }
        }
        ptx::commit_copies();
    }

    __device__ __forceinline__ void multiply_keys(std::uint32_t part) {
        const float* const query = shared_ + 2 * part_floats;
        if (lane_ < positions_from(part * part_positions)) {
            const float* const key = shared_ + part % 2 * part_floats + lane_ * row_floats;
            float score = 0;
#pragma unroll 8
            for (std::uint32_t d = 0; d < head_size; d += 4) {
                float keys[4];
                float queries[4];
                load_4(key + d, keys);
                load_4(query + d, queries);
#pragma unroll
                for (std::uint32_t e = 0; e < 4; ++e) {
                    score = __fadd_rn(score, __fmul_rn(keys[e], queries[e]));
                }
            }
            weights_[part * part_positions + lane_] = score;
            largest_ = score > largest_ ? score : largest_;
        }
    }

    /// Converts scores to weights, each lane its own.
    __device__ __forceinline__ void weigh(float scale) {
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            const float other = __shfl_xor_sync(every_lane, largest_, apart);
            largest_ = other > largest_ ? other : largest_;
        }
        for (std::uint32_t p = lane_; p <= place_.position; p += warp_lanes) {
            weights_[p] = ordered::exp_of(__fmul_rn(__fadd_rn(weights_[p], -largest_), scale));
        }
        __syncwarp();
    }

    /// `of_values`: the part's index among those of values.
    __device__ __forceinline__ void add_values(std::uint32_t part, std::uint32_t of_values) {
        const std::uint32_t first = of_values * part_positions;
        const std::uint32_t count = positions_from(first);
        const float* value = shared_ + part % 2 * part_floats + lane_ * lane_places;
#pragma unroll 4
        for (std::uint32_t p = 0; p < count; ++p, value += row_floats) {
            const float weight = weights_[first + p];
            sum_ = __fadd_rn(sum_, weight);
#pragma unroll
            for (std::uint32_t d = 0; d < lane_places; ++d) {
                mixed_[d] = __fadd_rn(mixed_[d], __fmul_rn(value[d], weight));
            }
        }
    }

    const Memory& memory_;
    const Cache& cache_;
    std::uint32_t layer_;
    const CachedPlace& place_;
    const float* query_;
    const float* key_;
    std::uint32_t at_;
    float* shared_;
    float* weights_;
    std::uint32_t lane_;
    float mixed_[lane_places] = {};
    float sum_ = 0;
    float largest_ = -INFINITY;
};

template <std::uint32_t head_size>
__global__ void __launch_bounds__(most_cached_in_order_warps* warp_lanes)
    attend_cached_in_order(Memory memory, Attention attention, Cache cache, std::uint32_t layer, Attending attending) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t first = attending == Attending::continued ? batch.beginning : 0;
    const std::uint32_t all = (batch.entries - first) * attention.heads;
    float* const shared = reinterpret_cast<float*>(cached_in_order_memory) +
                          threadIdx.x / warp_lanes * OrderedHead<head_size>::floats_for(attention.positions);
    for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / warp_lanes; i < all;
         i += gridDim.x * (blockDim.x / warp_lanes)) {
        const CachedPlace place = place_of(memory, attending, first + i / attention.heads);
        const std::uint32_t number = i % attention.heads;
        const std::uint32_t at = number * head_size;
        const std::uint32_t key_at = attention.key_head(number) * head_size;
        const float* const row =
            static_cast<const float*>(attention.queries) + std::size_t{place.row} * attention.stride;
        OrderedHead<head_size> head(memory, cache, layer, place, row + at, row + attention.query_width() + key_at,
                                    key_at, shared);
        if (place.is_new && attention.is_first_of_keys(number)) {
            head.write_cache();
        }
        head.attend(attention.scale);
        head.store(static_cast<float*>(attention.out) + std::size_t{place.to} * attention.out_stride + at);
    }
}

template <std::uint32_t head_size>
void launch_cached_in_order(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                            Attending attending, cudaStream_t stream) {
    const std::uint32_t of_warp =
        OrderedHead<head_size>::floats_for(attention.positions) * std::uint32_t{sizeof(float)};
    expects(of_warp <= least_shared_bytes, "decoder: attention in fp32 has no room for a text's weights");
    const std::uint32_t warps = std::min(most_cached_in_order_warps, least_shared_bytes / of_warp);
    const std::uint32_t shared = warps * of_warp;
    allow_shared_bytes(&attend_cached_in_order<head_size>, shared);
    launch(&attend_cached_in_order<head_size>, "attention to the cache",
           {.blocks = blocks_for(std::uint64_t{memory.slots} * attention.heads, warps, cached_in_order_blocks),
            .threads = warps * warp_lanes,
            .shared_bytes = shared,
            .chained = true},
           stream, memory, attention, cache, layer, attending);
}

void enqueue_cached_in_order(const Memory& memory, const Attention& attention, const Cache& cache, std::uint32_t layer,
                             Attending attending, cudaStream_t stream) {
    if (attention.head_size == 32) {
        launch_cached_in_order<32>(memory, attention, cache, layer, attending, stream);
    } else if (attention.head_size == 64) {
        launch_cached_in_order<64>(memory, attention, cache, layer, attending, stream);
    } else {
        launch_cached_in_order<128>(memory, attention, cache, layer, attending, stream);
    }
}

}  // namespace sluice::decoder

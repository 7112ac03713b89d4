#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/cached_place.cuh"
#include "kernels/cuda/decoder/attention/quantised_attention.hpp"
#include "kernels/cuda/decoder/attention/quantised_cache.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t quantised_blocks_together = 5;  // on a multiprocessor
constexpr std::uint32_t code_rounds = 4;                // whose loads are in flight together

/// Attention of a row in one head to the quantised cache, by a warp. A round is as many positions as the warp has
/// groups of row_lanes_of lanes; each group has the key and the value of one. The tensor cores compute the scores of
/// two rounds at a time.
template <KvCache kind, class T, std::uint32_t head_size>
class QuantisedHead {
public:
    using Codes = CacheCodes<kind>;
    using Page = CodePage<kind>;

    static constexpr std::uint32_t row_lanes = row_lanes_of<head_size>;
    static constexpr std::uint32_t round = warp_lanes / row_lanes;  // positions
    static constexpr std::uint32_t step = code_rounds * round;

    /// `query` is the head's.
    __device__ __forceinline__ QuantisedHead(const T* query, float scale)
        : lane_(threadIdx.x % warp_lanes), at_(lane_ % row_lanes * lane_codes) {
        scale_ = scale * ptx::log2_e;
        float values[lane_codes];
        load_lane_values(query + at_, values);
        if constexpr (std::is_same_v<T, __nv_bfloat16>) {  // has exponents that fp16 has not
            std::uint32_t exponent = 1;
#pragma unroll
            for (const float value : values) {
                exponent = max(exponent, min(__float_as_uint(fabsf(value)) >> 23U, 253U));
            }
#pragma unroll
            for (std::uint32_t apart = 1; apart < row_lanes; apart *= 2) {
                exponent = max(exponent, __shfl_xor_sync(every_lane, exponent, apart));
            }
            scale_ *= __uint_as_float(exponent << 23U);
#pragma unroll
            for (float& value : values) {
                value *= __uint_as_float((254U - exponent) << 23U);
            }
        }
#pragma unroll
        for (std::uint32_t i = 0; i < lane_codes / 2; ++i) {
            query_[i] = is_in_column() ? values::pack<__half>(values[2 * i], values[2 * i + 1]) : 0;
        }
    }

    /// Writes the row's own key, and its value, which is `width` values further on, to the cache.
    __device__ __forceinline__ void write_cache(const T* key, std::uint32_t width, const Page& page,
                                                std::uint32_t position) const {
#pragma unroll
        for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
            float values[lane_codes];
            load_lane_values(key + matrix * width + at_, values);
            const CodedPiece piece = quantise<kind, head_size>(values);
            if (lane_ < row_lanes) {
                store_piece<kind, head_size>(page, matrix, position % page_positions, at_, piece);
            }
        }
        __syncwarp();  // before they read it
    }

    /// Attends to positions first to first + step - 1 of a text; instead of those from `positions` on, the last one is
    /// read, with weight 0. page_of(position) is its Page.
    template <class PageOf>
    __device__ __forceinline__ void add(std::uint32_t first, std::uint32_t positions, const PageOf& page_of) {
        uint4 keys[code_rounds];
        uint4 of_values[code_rounds];
        std::uint32_t scales[code_rounds];
#pragma unroll
        for (std::uint32_t i = 0; i < code_rounds; ++i) {
            const std::uint32_t position = min(first + i * round + lane_ / row_lanes, positions - 1);
            const Page page = page_of(position);
            const std::uint32_t place = position % page_positions;
            const std::uint8_t* const key = page.rows + place * head_size + at_;
            keys[i] = load_16(key);
            of_values[i] = load_16(key + page_positions * head_size);
            scales[i] = *reinterpret_cast<const typename Codes::TwoScales*>(page.scales + 2 * place);
        }
        float scores[code_rounds];
        float largest = largest_;
#pragma unroll
        for (std::uint32_t i = 0; i < code_rounds; i += 2) {
            multiply(keys[i], keys[i + 1], scores[i], scores[i + 1]);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < code_rounds; ++i) {
            const bool exists = first + i * round + lane_ / row_lanes < positions;
            scores[i] = exists ? scores[i] * (Codes::scale_of_key(scales[i]) * scale_) : -INFINITY;
            largest = fmaxf(largest, scores[i]);
        }
#pragma unroll
        for (std::uint32_t apart = row_lanes; apart < warp_lanes; apart *= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, apart));
        }
        const float kept = exp2f(largest_ - largest);  // 0 the first time
        largest_ = largest;
        sum_ *= kept;
#pragma unroll
        for (float& each : mixed_) {
            each *= kept;
        }
#pragma unroll
        for (std::uint32_t i = 0; i < code_rounds; ++i) {
            float weight = exp2f(scores[i] - largest);
            sum_ += weight;
            weight *= Codes::scale_of_value(scales[i]);
            float of[lane_codes];
            unscaled<kind>(of_values[i], of);
#pragma unroll
            for (std::uint32_t d = 0; d < lane_codes; ++d) {
                mixed_[d] = fmaf(weight, of[d], mixed_[d]);
            }
        }
    }

    /// Stores the result, the head's values from `to` on; called last. Lanes exchange their sums, so that each stores
    /// different values.
    __device__ __forceinline__ void store(T* to) {
        constexpr std::uint32_t count = head_size / warp_lanes;
        std::uint32_t at = at_;
#pragma unroll
        for (std::uint32_t apart = row_lanes, half = lane_codes / 2; apart < warp_lanes; apart *= 2, half /= 2) {
            const bool upper = (lane_ & apart) != 0;
            at += upper ? half : 0;
            sum_ += __shfl_xor_sync(every_lane, sum_, apart);
#pragma unroll
            for (std::uint32_t d = 0; d < lane_codes / 2; ++d) {
                if (d < half) {
                    const float given = upper ? mixed_[d] : mixed_[d + half];
                    const float own = upper ? mixed_[d + half] : mixed_[d];
                    mixed_[d] = own + __shfl_xor_sync(every_lane, given, apart);
                }
            }
        }
        if constexpr (count == 1) {
            *reinterpret_cast<std::uint16_t*>(to + at) =
                static_cast<std::uint16_t>(values::pack<T>(mixed_[0] / sum_, 0.0F));
        } else {
#pragma unroll
            for (std::uint32_t d = 0; d < count; d += 2) {
                *reinterpret_cast<std::uint32_t*>(to + at + d) =
                    values::pack<T>(mixed_[d] / sum_, mixed_[d + 1] / sum_);
            }
        }
    }

private:
    // To the tensor cores the keys of a round are 8 rows, of four lanes each: two positions in heads of 32, one in
    // heads of 64, half of one in heads of 128. Rows are multiplied by 8 columns: even ones have the query where a row
    // has its first position, or the query's first half; odd ones have the other.

    /// Whether the lane's part of the query goes into its column.
    __device__ __forceinline__ bool is_in_column() const {
        return head_size != 32 || lane_ / 4 % 2 == lane_ % 4 / 2;
    }

    /// Products of the query and of the keys of the lane's positions in two rounds.
    __device__ __forceinline__ void multiply(const uint4& first, const uint4& second, float& of_first,
                                             float& of_second) const {
        const std::uint32_t words[2][4] = {{first.x, first.y, first.z, first.w},
                                           {second.x, second.y, second.z, second.w}};
        float sums[4] = {};
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::uint32_t keys[4] = {Codes::halves(words[0][i], 0), Codes::halves(words[1][i], 0),
                                           Codes::halves(words[0][i], 1), Codes::halves(words[1][i], 1)};
            mma::multiply<Precision::fp16>(sums, keys, query_[2 * i], query_[2 * i + 1]);
        }
        const bool odd = head_size == 32 ? lane_ % 4 / 2 == 1 : head_size == 128 && lane_ / 4 % 2 == 1;
        of_first = odd ? sums[1] : sums[0];
        of_second = odd ? sums[3] : sums[2];
        if constexpr (head_size == 128) {
            of_first += __shfl_xor_sync(every_lane, of_first, 4);
            of_second += __shfl_xor_sync(every_lane, of_second, 4);
        }
    }

    std::uint32_t lane_;
    std::uint32_t at_;                     // the lane's first value
    std::uint32_t query_[lane_codes / 2];  // two values in fp16 each
    float scale_;  // of products of query_ and unscaled keys, with log2(e): weights are powers of 2
    float mixed_[lane_codes] = {};
    float largest_ = -INFINITY;  // of all lanes
    float sum_ = 0;
};

template <KvCache kind, class T, std::uint32_t head_size>
__global__ void __launch_bounds__(quantised_threads, quantised_blocks_together)
    attend_quantised(Memory memory, Attention attention, Cache cache, std::uint32_t layer, Attending attending) {
    using OfHead = QuantisedHead<kind, T, head_size>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t first = attending == Attending::continued ? batch.beginning : 0;
    const std::uint32_t all = (batch.entries - first) * attention.heads;
    for (std::uint32_t i = (blockIdx.x * quantised_threads + threadIdx.x) / warp_lanes; i < all;
         i += gridDim.x * quantised_warps) {
        const CachedPlace place = place_of(memory, attending, first + i / attention.heads);
        const std::uint32_t head = i % attention.heads;
        const std::uint32_t key_head = attention.key_head(head);
        const auto page = [&](std::uint32_t position) {
            return code_page<kind, head_size>(cache, layer, page_of(memory, place.slot, position), key_head);
        };
        const T* const row = static_cast<const T*>(attention.queries) + std::size_t{place.row} * attention.stride;
        OfHead of_head(row + head * head_size, attention.scale);
        if (place.is_new) {  // as the warps of other heads with the same key do
            of_head.write_cache(row + attention.query_width() + key_head * head_size, cache.width, page(place.position),
                                place.position);
        }
        const std::uint32_t positions = place.position + 1;
        for (std::uint32_t p = 0; p < positions; p += OfHead::step) {
            of_head.add(p, positions, page);
        }
        of_head.store(static_cast<T*>(attention.out) + std::size_t{place.to} * attention.out_stride + head * head_size);
    }
}

template <KvCache kind, class T, std::uint32_t head_size>
__global__ void __launch_bounds__(quantised_threads)
    write_quantised_cache(Memory memory, const void* keys, std::uint32_t stride, Cache cache, std::uint32_t layer) {
    constexpr std::uint32_t row_lanes = row_lanes_of<head_size>;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t heads = cache.width / head_size;
    const std::uint32_t pieces = 2 * heads * row_lanes;  // of keys and values
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    for (std::uint32_t r = (blockIdx.x * quantised_threads + threadIdx.x) / warp_lanes; r < memory.batch->rows;
         r += gridDim.x * quantised_warps) {
        const Row row = memory.rows[r];
        const std::uint32_t page = page_of(memory, row.slot, row.position);
        const T* const from = static_cast<const T*>(keys) + std::size_t{r} * stride;
        for (std::uint32_t begin = 0; begin < pieces; begin += warp_lanes) {
            const std::uint32_t piece = begin + lane;
            const std::uint32_t matrix = piece / row_lanes / heads;
            const std::uint32_t head = piece / row_lanes % heads;
            float values[lane_codes];
            load_lane_values(from + min(piece, pieces - 1) * lane_codes, values);
            const CodedPiece rounded = quantise<kind, head_size>(values);
            if (piece < pieces) {
                store_piece<kind, head_size>(code_page<kind, head_size>(cache, layer, page, head), matrix,
                                             row.position % page_positions, piece % row_lanes * lane_codes, rounded);
            }
        }
    }
}

template <KvCache kind>
QuantisedKernels quantised_kernels(Precision precision, std::uint32_t head_size) {
    QuantisedKernels kernels{};
    with_narrow_type_of(precision, [&](auto value) {
        with_tensor_head(head_size, [&](auto size) {
            using T = decltype(value);
            kernels = {&attend_quantised<kind, T, size()>, &write_quantised_cache<kind, T, size()>};
        });
    });
    return kernels;
}

}  // namespace sluice::decoder

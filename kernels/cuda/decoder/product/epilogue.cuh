#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/places.cuh"
#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/transpose.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice::decoder {

/// Stores a consumer's sums, some columns at a time, so that loads of their residuals are in flight together. A thread
/// has, in each of two rows of a block of 64, two of every eight columns. `may_write_parts`: may write two parts.
template <class C, bool may_write_parts = false>
class BatchedEpilogue {
public:
    using Target = FloatProductArguments;

    __device__ __forceinline__ static void prepare(const Target&, const gemm::Layout<C>&) {}

    __device__ __forceinline__ BatchedEpilogue(const gemm::Arguments& arguments, const Target& floats,
                                               const gemm::Layout<C>&, std::uint32_t consumer)
        : arguments_(arguments),
          floats_(floats),
          thread_(threadIdx.x % gemm::warpgroup_threads),
          first_row_(C::ping_pong ? 0 : consumer * C::blocks * gemm::product_rows) {}

    /// Initialises sums with the bias and prefetches the residual.
    __device__ __forceinline__ void begin(gemm::Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        row_ = row + first_row_;
        column_ = column;
#pragma unroll
        for (std::uint32_t j = 0; j < C::columns / 8; ++j) {
            const std::uint32_t at = column_of(j);
            const bool exists = arguments_.bias != nullptr && at < arguments_.columns;
            const float2 bias = exists ? ptx::load_global_8(arguments_.bias + at) : float2{0, 0};
#pragma unroll
            for (std::uint32_t block = 0; block < C::blocks; ++block) {
                sums[block][4 * j] = bias.x;
                sums[block][4 * j + 1] = bias.y;
                sums[block][4 * j + 2] = bias.x;
                sums[block][4 * j + 3] = bias.y;
            }
        }
        prefetch_residual<C>(arguments_, floats_, thread_, row_, column);
    }

    __device__ __forceinline__ void store(const gemm::Sums<C>& sums) const {
        const std::uint32_t rows = *arguments_.active;
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            const std::uint32_t first =
                row_ + block * gemm::product_rows + thread_ / warp_lanes * 16 + thread_ % warp_lanes / 4;
#pragma unroll
            for (std::uint32_t j = 0; j < C::columns / 8; j += batch) {
                store_batch(sums[block], j, first, rows);
            }
        }
    }

    __device__ __forceinline__ void finish() const {}

private:
    // Groups of eight columns whose residuals are loaded together: more if no other consumer multiplies meanwhile.
    static constexpr std::uint32_t groups = C::columns / 8;
    static constexpr std::uint32_t batch = C::ping_pong ? 4 : groups % 12 == 0 ? 12 : 8;
    static_assert(groups % batch == 0);

    __device__ __forceinline__ std::uint32_t column_of(std::uint32_t j) const {
        return column_ + 8 * j + thread_ % 4 * 2;
    }

    __device__ __forceinline__ void store_batch(const float (&sums)[C::columns / 2], std::uint32_t from,
                                                std::uint32_t first, std::uint32_t rows) const {
        float values[4 * batch];
#pragma unroll
        for (std::uint32_t i = 0; i < 4 * batch; ++i) {
            values[i] = sums[4 * from + i];
        }
        gemm::activate<float>(values, arguments_.activation);
        if constexpr (may_write_parts) {
            if (floats_.in_parts) {
#pragma unroll
                for (std::uint32_t j = 0; j < batch; j += 4) {
                    store_parts(values + 4 * j, from + j, first, rows);
                }
                return;
            }
        }
        const FloatPlaces places{arguments_, floats_, rows, first, column_of(0)};
        places.add_residual<batch>(values, from);
        if (floats_.rounds_to_tf32) {
#pragma unroll
            for (float& value : values) {
                value = values::round_tf32(value);
            }
        }
        places.store<batch>(values, from);
    }

    /// Each of four threads gets one of four groups of eight columns, in two rows.
    __device__ __forceinline__ void store_parts(const float* values, std::uint32_t from, std::uint32_t first,
                                                std::uint32_t rows) const {
        const std::uint32_t at = column_ + 8 * (from + thread_ % 4);
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            std::uint32_t firsts[4];
            std::uint32_t rests[4];
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                const values::HalfParts parts = values::split_half(values[4 * j + 2 * i], values[4 * j + 2 * i + 1]);
                firsts[j] = parts.firsts;
                rests[j] = parts.rests;
            }
            transpose_among_four(firsts);
            transpose_among_four(rests);
            if (at < arguments_.columns && first + 8 * i < rows) {
                auto* const to =
                    reinterpret_cast<std::uint16_t*>(floats_.out + std::size_t{first + 8 * i} * floats_.stride) + at;
                ptx::store_global_16(to, {firsts[0], firsts[1], firsts[2], firsts[3]});
                ptx::store_global_16(to + floats_.stride, {rests[0], rests[1], rests[2], rests[3]});
            }
        }
    }

    const gemm::Arguments& arguments_;
    const Target& floats_;
    std::uint32_t thread_;
    std::uint32_t first_row_;  // the consumer's, in a tile
    std::uint32_t row_ = 0;
    std::uint32_t column_ = 0;
};

}  // namespace sluice::decoder

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

/// Stores the sums of products of fp16x2: fp32, to which residuals are added; or, `writes_codes`, activated or not,
/// what the next product takes. A thread has, in each of two rows of a block of 64, two of every eight columns. Biases
/// are added here, as sums begin with small ones.
template <class C, bool writes_codes>
class CodeEpilogue {
public:
    using Target = FloatProductArguments;

    __device__ __forceinline__ static void prepare(const Target&, const gemm::Layout<C>&) {}

    __device__ __forceinline__ CodeEpilogue(const gemm::Arguments& arguments, const Target& floats,
                                            const gemm::Layout<C>&, std::uint32_t)
        : arguments_(arguments), floats_(floats), thread_(threadIdx.x % gemm::warpgroup_threads) {
        static_assert(C::tile_consumers == 1, "a consumer has all rows of a tile");
    }

    /// Prefetches the residual.
    __device__ __forceinline__ void begin(gemm::Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        row_ = row;
        column_ = column;
        gemm::begin_at_zero<C>(sums);
        if constexpr (!writes_codes) {
            prefetch_residual<C>(arguments_, floats_, thread_, row, column);
        }
    }

    __device__ __forceinline__ void store(const gemm::Sums<C>& sums) const {
        const std::uint32_t rows = *arguments_.active;
        float2 bias[batch];
        load_bias(0, bias);
#pragma unroll
        for (std::uint32_t j = 0; j < groups; j += batch) {
            float2 next_bias[batch];
            load_bias(j + batch, next_bias);
#pragma unroll
            for (std::uint32_t block = 0; block < C::blocks; ++block) {
                float values[4 * batch];
#pragma unroll
                for (std::uint32_t i = 0; i < 4 * batch; ++i) {
                    values[i] = sums[block][4 * j + i] + (i % 2 == 0 ? bias[i / 4].x : bias[i / 4].y);
                }
                if constexpr (writes_codes) {
                    if (arguments_.activation == Activation::gelu_tanh) {
#pragma unroll
                        for (float& value : values) {
                            value = gemm::gelu_tanh(value);
                        }
                    }
                    store_codes(values, j, first_row(block), rows);
                } else {
                    const FloatPlaces places{arguments_, floats_, rows, first_row(block), column_of(0)};
                    places.add_residual<batch>(values, j);
                    places.store<batch>(values, j);
                }
            }
#pragma unroll
            for (std::uint32_t i = 0; i < batch; ++i) {
                bias[i] = next_bias[i];
            }
        }
    }

    __device__ __forceinline__ void finish() const {}

private:
    static constexpr std::uint32_t groups = C::columns / 8;
    static constexpr std::uint32_t batch = 4;  // groups of eight columns whose residuals are loaded together
    static_assert(groups % batch == 0);

    __device__ __forceinline__ std::uint32_t first_row(std::uint32_t block) const {
        return row_ + block * gemm::product_rows + thread_ / warp_lanes * 16 + thread_ % warp_lanes / 4;
    }
    __device__ __forceinline__ std::uint32_t column_of(std::uint32_t j) const {
        return column_ + 8 * j + thread_ % 4 * 2;
    }

    __device__ __forceinline__ void load_bias(std::uint32_t from, float2 (&bias)[batch]) const {
#pragma unroll
        for (std::uint32_t j = 0; j < batch; ++j) {
            const std::uint32_t at = column_of(from + j);
            const bool exists = from < groups && arguments_.bias != nullptr && at < arguments_.columns;
            bias[j] = exists ? ptx::load_global_8(arguments_.bias + at) : float2{0, 0};
        }
    }

    /// Each of four threads gets one of four groups of eight columns, in two rows.
    __device__ __forceinline__ void store_codes(const float (&values)[4 * batch], std::uint32_t from,
                                                std::uint32_t first, std::uint32_t rows) const {
        const std::uint32_t at = column_ + 8 * (from + thread_ % 4);
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            std::uint32_t firsts[4];
            std::uint32_t codes[4];
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                const sluice::values::HalfCodes two =
                    sluice::values::split_half_codes(values[4 * j + 2 * i], values[4 * j + 2 * i + 1]);
                firsts[j] = two.firsts;
                codes[j] = two.codes | std::uint32_t{two.rests} << 16U;
            }
            transpose_among_four(firsts);
            transpose_among_four(codes);
            if (at < arguments_.columns && first + 8 * i < rows) {
                constexpr std::uint32_t lower = 0x5410;  // halves of two words
                constexpr std::uint32_t upper = 0x7632;
                auto* const row =
                    reinterpret_cast<std::uint8_t*>(floats_.out + std::size_t{first + 8 * i} * floats_.stride);
                ptx::store_global_16(row + 2 * at, {firsts[0], firsts[1], firsts[2], firsts[3]});
                auto* const to = row + 2 * floats_.stride + at;
                *reinterpret_cast<uint2*>(to) = {__byte_perm(codes[0], codes[1], lower),
                                                 __byte_perm(codes[2], codes[3], lower)};
                *reinterpret_cast<uint2*>(to + floats_.stride) = {__byte_perm(codes[0], codes[1], upper),
                                                                  __byte_perm(codes[2], codes[3], upper)};
            }
        }
    }

    const gemm::Arguments& arguments_;
    const Target& floats_;
    std::uint32_t thread_;
    std::uint32_t row_ = 0;
    std::uint32_t column_ = 0;
};

}  // namespace sluice::decoder

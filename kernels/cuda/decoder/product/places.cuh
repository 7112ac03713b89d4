#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

namespace sluice::decoder {

/// Prefetches the residual of a consumer's part of a tile, of which `thread` asks for one row.
template <class C>
__device__ __forceinline__ void prefetch_residual(const gemm::Arguments& product, const FloatProductArguments& floats,
                                                  std::uint32_t thread, std::uint32_t row, std::uint32_t column) {
    constexpr std::uint32_t rows = C::blocks * gemm::product_rows;
    static_assert(rows <= gemm::warpgroup_threads, "each thread asks for a row");
    const std::uint32_t bytes = min(C::columns, product.columns - column) / 4 * 16;
    const std::uint32_t own = row + thread;
    if (floats.residual != nullptr && floats.stride % 4 == 0 && bytes != 0 && thread < rows && own < *product.active) {
        ptx::prefetch(floats.residual + std::size_t{own} * floats.stride + column, bytes);
    }
}

/// What a thread has of a block of 64 rows, in fp32: in two rows, eight apart, two of every eight columns.
struct FloatPlaces {
    const gemm::Arguments& product;
    const FloatProductArguments& floats;
    std::uint32_t rows;          ///< That are active.
    std::uint32_t first_row;     ///< The thread's.
    std::uint32_t first_column;  ///< The thread's, in the first eight.

    [[nodiscard]] __device__ __forceinline__ std::size_t at(std::uint32_t i, std::uint32_t column) const {
        return std::size_t{first_row + 8 * i} * floats.stride + column;
    }

    /// Calls function(place, index of the first value, whether it is of the product) for each two adjacent values of
    /// `batch` eights of columns from the `from`-th on.
    template <std::uint32_t batch, class Function>
    __device__ __forceinline__ void each_pair(std::uint32_t from, const Function& function) const {
#pragma unroll
        for (std::uint32_t j = 0; j < batch; ++j) {
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                const std::uint32_t column = first_column + 8 * (from + j);
                function(at(i, column), 4 * j + 2 * i, column < product.columns && first_row + 8 * i < rows);
            }
        }
    }

    /// Adds the residual, of which all loads are in flight together.
    template <std::uint32_t batch>
    __device__ __forceinline__ void add_residual(float (&values)[4 * batch], std::uint32_t from) const {
        if (floats.residual == nullptr) {
            return;
        }
        float2 others[2 * batch];
        each_pair<batch>(from, [&](std::size_t place, std::uint32_t value, bool exists) {
            others[value / 2] = exists ? *reinterpret_cast<const float2*>(floats.residual + place) : float2{0, 0};
        });
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * batch; ++i) {
            values[2 * i] += others[i].x;
            values[2 * i + 1] += others[i].y;
        }
    }

    template <std::uint32_t batch>
    __device__ __forceinline__ void store(const float (&values)[4 * batch], std::uint32_t from) const {
        each_pair<batch>(from, [&](std::size_t place, std::uint32_t value, bool exists) {
            if (exists) {
                *reinterpret_cast<float2*>(floats.out + place) = {values[value], values[value + 1]};
            }
        });
    }
};

}  // namespace sluice::decoder

#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/attention/quantised_cache.cuh"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// Writing a page of the cache, by a warp, from keys and values in shared memory. `at(matrix, row, piece)` is the
/// address of 16 bytes there: of a key (matrix 0) or a value (1) of the page's position `row`. The first `rows`
/// positions are written. All lanes call.
namespace sluice::decoder {

/// `page`: the head's part of the page; a row of all heads has `width` values.
template <std::uint32_t head_size, class T, class At>
__device__ __forceinline__ void write_page(T* page, std::uint32_t width, std::uint32_t rows, const At& at) {
    constexpr std::uint32_t piece_values = 16 / sizeof(T);
    constexpr std::uint32_t row_pieces = head_size / piece_values;
    constexpr std::uint32_t rows_at_once = warp_lanes / row_pieces;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t column = lane % row_pieces;
    T* to = page + lane / row_pieces * 2 * width + column * piece_values;
#pragma unroll
    for (std::uint32_t first = 0; first < page_positions; first += rows_at_once) {
        const std::uint32_t row = first + lane / row_pieces;
        if (row < rows) {
            ptx::store_global_16(to, ptx::load_shared_16(at(0, row, column)));
            ptx::store_global_16(to + width, ptx::load_shared_16(at(1, row, column)));
        }
        to += rows_at_once * 2 * width;
    }
}

/// Quantises values of type T.
template <std::uint32_t head_size, class T, KvCache kind, class At>
__device__ __forceinline__ void write_page(const CodePage<kind>& page, std::uint32_t rows, const At& at) {
    constexpr std::uint32_t row_lanes = row_lanes_of<head_size>;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t piece = lane % row_lanes * 2;
#pragma unroll
    for (std::uint32_t i = 0; i < 2 * page_positions; i += warp_lanes / row_lanes) {
        const std::uint32_t matrix = (i + lane / row_lanes) / page_positions;
        const std::uint32_t row = (i + lane / row_lanes) % page_positions;
        float of[lane_codes];
        values::unpack(ptx::load_shared_16(at(matrix, row, piece)), reinterpret_cast<float(&)[8]>(of[0]), T{});
        values::unpack(ptx::load_shared_16(at(matrix, row, piece + 1)), reinterpret_cast<float(&)[8]>(of[8]), T{});
        const CodedPiece coded = quantise<kind, head_size>(of);
        if (row < rows) {
            store_piece<kind, head_size>(page, matrix, row, lane % row_lanes * lane_codes, coded);
        }
    }
}

}  // namespace sluice::decoder

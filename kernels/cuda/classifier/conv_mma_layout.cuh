#pragma once

#include <cstdint>

#include "kernels/cuda/classifier/conv_store.cuh"
#include "kernels/cuda/gemm/mma_layout.cuh"
#include "kernels/cuda/launch.hpp"

/// Arguments, tiles and shared-memory layout of the convolution's kernel by mma.sync.
namespace sluice::conv_mma {

using conv::row_bytes;
using conv::row_units;
using conv::unit_bytes;

constexpr std::uint32_t warps_down = 2;
constexpr std::uint32_t warps_across = 2;
constexpr std::uint32_t warp_columns = conv::narrow_columns;
constexpr std::uint32_t tile_columns = warp_columns * warps_across;
constexpr std::uint32_t threads = 32 * warps_down * warps_across;
constexpr std::uint32_t blocks = 2;  // per multiprocessor

/// Tile sizes. A warp's products are below each other; with pooling, row 3 q + m is row q of product m, so that a
/// thread has all three of one maximum.
template <bool pooled_>
struct Config {
    static constexpr bool pooled = pooled_;
    static constexpr std::uint32_t row_products = pooled ? 3 : 4;
    static constexpr std::uint32_t column_products = warp_columns / gemm::mma_columns;
    static constexpr std::uint32_t rows = warps_down * row_products * gemm::mma_rows;
};

constexpr std::uint32_t weight_stages = 3;
constexpr std::uint32_t lead = weight_stages - 1;  // steps by which copies are ahead
constexpr std::uint32_t weight_bytes = tile_columns * row_bytes;
static_assert(threads / 32 * conv::box_bytes <= weight_stages * weight_bytes, "boxes lie there when stages are over");

/// Pieces of the input in shared memory: the current one, and those of the next `lead` steps.
constexpr std::uint32_t input_stages(std::uint32_t taps) {
    return 1 + (lead + taps - 1) / taps;
}
template <class C>
constexpr std::uint32_t copied_rows(std::uint32_t taps) {
    return C::rows + taps - 1;
}
template <class C>
constexpr std::uint32_t shared_bytes(std::uint32_t taps) {
    return weight_stages * weight_bytes + input_stages(taps) * copied_rows<C>(taps) * row_bytes;
}
static_assert(shared_bytes<Config<false>>(1) <= least_shared_bytes &&
              shared_bytes<Config<false>>(9) <= least_shared_bytes);

struct Arguments {
    const std::uint8_t* in;
    const std::uint8_t* weights;
    const float* bias;
    conv::Target target;
    std::uint32_t input_rows;     // of all items
    std::uint32_t channel_bytes;  // of a row of the input, all parts
    std::uint32_t part_pieces;    // pieces of row_bytes in a row of the input or a part of it
    std::uint32_t taps;
    std::uint32_t input_stages;
    std::uint32_t copied_rows;  // input rows of a tile
};

/// One tap of one piece of the channels, and the stages that its operands are in.
struct Step {
    std::uint32_t piece = 0;
    std::uint32_t tap = 0;
    std::uint32_t input_stage = 0;
    std::uint32_t weight_stage = 0;

    __device__ __forceinline__ void next(const Arguments& arguments) {
        weight_stage = weight_stage + 1 == weight_stages ? 0 : weight_stage + 1;
        if (++tap == arguments.taps) {
            tap = 0;
            ++piece;
            input_stage = input_stage + 1 == arguments.input_stages ? 0 : input_stage + 1;
        }
    }
};

/// Addresses in shared memory.
struct Layout {
    std::uint32_t base;

    __device__ __forceinline__ std::uint32_t weights(const Step& step) const {
        return base + step.weight_stage * weight_bytes;
    }
    __device__ __forceinline__ std::uint32_t input(const Arguments& arguments, const Step& step) const {
        return base + weight_stages * weight_bytes + step.input_stage * arguments.copied_rows * row_bytes;
    }
    __device__ __forceinline__ std::uint32_t box(std::uint32_t warp) const { return base + warp * conv::box_bytes; }
};

}  // namespace sluice::conv_mma

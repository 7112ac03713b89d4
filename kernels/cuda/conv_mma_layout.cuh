#pragma once

#include <cstdint>

#include "kernels/cuda/conv_rows.cuh"

/// What ConvMma's kernel is given, its tiles, and where things lie in its shared memory.
namespace sluice::conv_mma {

constexpr std::uint32_t row_bytes = 128;  // of k in shared memory: 64 bf16 or 32 tf32
constexpr std::uint32_t unit_bytes = 16;  // of one copy, and of a row of a matrix that is loaded
constexpr std::uint32_t row_units = row_bytes / unit_bytes;
constexpr std::uint32_t product_rows = 16;  // of one mma
constexpr std::uint32_t product_columns = 8;
constexpr std::uint32_t warp_columns = 64;
constexpr std::uint32_t column_products = warp_columns / product_columns;
constexpr std::uint32_t warps_down = 2;
constexpr std::uint32_t warps_across = 2;
constexpr std::uint32_t tile_columns = warp_columns * warps_across;
constexpr std::uint32_t threads = 32 * warps_down * warps_across;
constexpr std::uint32_t blocks = 2;  // of a multiprocessor

constexpr std::uint32_t pooled_rows = 3;  // of one maximum: one of each of a warp's products

/// That a warp has accumulators for, one below the other.
constexpr std::uint32_t row_products(bool pooled) {
    return pooled ? pooled_rows : 4;
}
constexpr std::uint32_t tile_rows(bool pooled) {
    return warps_down * row_products(pooled) * product_rows;
}

constexpr std::uint32_t weight_stages = 3;
constexpr std::uint32_t lead = weight_stages - 1;  // steps by which copies are ahead
constexpr std::uint32_t weight_bytes = tile_columns * row_bytes;
constexpr std::uint32_t staging_bytes = product_rows * row_bytes;  // of a warp, in the stages' place when they are over
constexpr std::uint32_t most_shared_bytes = 99 * 1024;             // of a block on compute capability 8.6 and 8.9
static_assert(threads / 32 * staging_bytes <= weight_stages * weight_bytes);

/// Pieces of the input in shared memory: the one that is multiplied, and those that steps up to `lead` ahead need.
constexpr std::uint32_t input_stages(std::uint32_t taps) {
    return 1 + (lead + taps - 1) / taps;
}
constexpr std::uint32_t copied_rows(std::uint32_t taps, bool pooled) {
    return tile_rows(pooled) + taps - 1;
}
constexpr std::uint32_t shared_bytes(std::uint32_t taps, bool pooled) {
    return weight_stages * weight_bytes + input_stages(taps) * copied_rows(taps, pooled) * row_bytes;
}
static_assert(shared_bytes(1, false) <= most_shared_bytes && shared_bytes(9, false) <= most_shared_bytes);

struct Arguments {
    const std::uint8_t* in;
    const std::uint8_t* weights;
    const float* bias;
    void* out;
    ConvRows rows;
    std::uint32_t input_rows;     // of all items
    std::uint32_t channel_bytes;  // of a row of the input, all parts
    std::uint32_t part_pieces;    // of row_bytes, in a row of the input or a part of it
    std::uint32_t outputs;
    std::uint32_t taps;
    std::uint32_t input_stages;
    std::uint32_t copied_rows;  // of the input, for a tile
};

/// Offset of a 16-byte unit in a matrix of rows of row_bytes.
__device__ __forceinline__ std::uint32_t unit_at(std::uint32_t row, std::uint32_t unit) {
    return row * row_bytes + (unit ^ row % row_units) * unit_bytes;
}

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
    __device__ __forceinline__ std::uint32_t staging(std::uint32_t warp) const { return base + warp * staging_bytes; }
};

}  // namespace sluice::conv_mma

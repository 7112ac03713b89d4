#pragma once

#include <cstdint>

#include "kernels/cuda/conv_rows.cuh"

/// What ConvGemm's kernel is given, its tiles, and where things lie in its shared memory.
namespace sluice::conv_gemm {

constexpr std::uint32_t row_bytes = 128;    // of k in shared memory: 64 bf16 or 32 tf32
constexpr std::uint32_t product_rows = 64;  // of one wgmma
constexpr std::uint32_t products = 3;       // that a warpgroup has accumulators for, one below the other
constexpr std::uint32_t tile_rows = product_rows * products;
constexpr std::uint32_t warpgroup_columns = 128;
constexpr std::uint32_t consumers = 2;  // warpgroups that multiply
constexpr std::uint32_t tile_columns = warpgroup_columns * consumers;
constexpr std::uint32_t warpgroup_threads = 128;
constexpr std::uint32_t threads = warpgroup_threads * (consumers + 1);

constexpr std::uint32_t input_stages = 3;
constexpr std::uint32_t input_rows = 200;  // room for tile_rows + 8 taps
constexpr std::uint32_t input_bytes = input_rows * row_bytes;
constexpr std::uint32_t weight_stages = 4;
constexpr std::uint32_t weight_bytes = warpgroup_columns * row_bytes;  // each warpgroup has stages of its own
constexpr std::uint32_t staging_rows = 16;                             // of a warp in a product
constexpr std::uint32_t staging_bytes = staging_rows * row_bytes;
constexpr std::uint32_t pattern_bytes = 1024;  // the swizzle's period; stages begin there
static_assert(input_bytes % pattern_bytes == 0 && weight_bytes % pattern_bytes == 0);

constexpr std::uint32_t weights_at = 0;
constexpr std::uint32_t inputs_at = weights_at + consumers * weight_stages * weight_bytes;
constexpr std::uint32_t staging_at = inputs_at + input_stages * input_bytes;
constexpr std::uint32_t bias_at = staging_at + consumers * 4 * staging_bytes;
constexpr std::uint32_t most_outputs = 1024;  // room for their bias
constexpr std::uint32_t barriers_at = bias_at + most_outputs * sizeof(float);
constexpr std::uint32_t barriers = 2 * (consumers * weight_stages + input_stages) + 1;
constexpr std::uint32_t shared_bytes = barriers_at + barriers * 8 + pattern_bytes;

struct Arguments {
    void* out;
    const std::uint8_t* weights;
    std::uint32_t prefetch_bytes;  // of the weights that each block brings into the cache, before the first copies ask
    const float* bias;
    ConvRows rows;
    std::uint32_t outputs;
    std::uint32_t taps;
    std::uint32_t part_pieces;  // of row_bytes, in a row of the input or a part of it
    std::uint32_t phase_rows;   // rows of each of the three matrices with pooling
    std::uint32_t copied_rows;  // of the input, for a tile
    std::uint32_t row_tiles;
    std::uint32_t tiles;
    std::uint32_t lead_steps;
    bool chained;
};

/// Addresses in shared memory.
class Layout {
public:
    __device__ explicit Layout(std::uint32_t base) : base_(base) {}

    __device__ __forceinline__ std::uint32_t weights(std::uint32_t consumer, std::uint32_t stage) const {
        return base_ + weights_at + (consumer * weight_stages + stage) * weight_bytes;
    }
    __device__ __forceinline__ std::uint32_t input(std::uint32_t stage) const {
        return base_ + inputs_at + stage * input_bytes;
    }
    __device__ __forceinline__ std::uint32_t staging(std::uint32_t warp) const {
        return base_ + staging_at + warp * staging_bytes;
    }
    __device__ __forceinline__ std::uint32_t bias(std::uint32_t column) const {
        return base_ + bias_at + column * static_cast<std::uint32_t>(sizeof(float));
    }
    __device__ __forceinline__ std::uint32_t weights_full(std::uint32_t consumer, std::uint32_t stage) const {
        return barrier(consumer * weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t weights_free(std::uint32_t consumer, std::uint32_t stage) const {
        return barrier((consumers + consumer) * weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t input_full(std::uint32_t stage) const {
        return barrier(2 * consumers * weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t input_free(std::uint32_t stage) const {
        return barrier(2 * consumers * weight_stages + input_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t lead() const { return barrier(barriers - 1); }

private:
    __device__ __forceinline__ std::uint32_t barrier(std::uint32_t number) const {
        return base_ + barriers_at + number * 8;
    }

    std::uint32_t base_;
};

/// Which tiles a block computes.
struct Tiles {
    std::uint32_t tile;
    std::uint32_t end;
    std::uint32_t step;
    std::uint32_t row_tiles;

    __device__ explicit Tiles(const Arguments& arguments)
        : tile(blockIdx.x), end(arguments.tiles), step(gridDim.x), row_tiles(arguments.row_tiles) {}
    __device__ __forceinline__ bool any() const { return tile < end; }
    __device__ __forceinline__ void next() { tile += step; }
    __device__ __forceinline__ std::uint32_t row_tile() const { return tile % row_tiles; }
    __device__ __forceinline__ std::uint32_t column() const { return tile / row_tiles * tile_columns; }
};

}  // namespace sluice::conv_gemm

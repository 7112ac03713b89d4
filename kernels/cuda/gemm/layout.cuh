#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/gemm_shape.hpp"

/// Arguments of the products' kernels, and the shared-memory layout of Gemm's.
namespace sluice::gemm {

constexpr std::uint32_t step_bytes = 128;  // of depth per step: a row of the swizzle's pattern
constexpr std::uint32_t step_depth = step_bytes / 2;
constexpr std::uint32_t product_rows = 64;  // of one wgmma
constexpr std::uint32_t warpgroup_threads = 128;
constexpr std::uint32_t warps_per_warpgroup = 4;
constexpr std::uint32_t box_rows = 16;     // of a warp in a product: what it stores at a time
constexpr std::uint32_t box_columns = 64;  // a row of the swizzle's pattern
constexpr std::uint32_t box_bytes = box_rows * step_bytes;
constexpr std::uint32_t pattern_bytes = 1024;  // the swizzle's period; shared memory and stages are aligned to it

/// Registers of a thread of the copying warpgroup, and of the others, in multiples of eight. All warpgroups' together
/// are no more than those with which they start: 504 for three.
struct RoleRegisters {
    int producer;
    int consumer;
};
constexpr RoleRegisters registers_to_copy{24, 240};
constexpr RoleRegisters registers_to_add_up{40, 232};  // where the copying warpgroup also adds up sums of rows

/// A variant of the kernel: each of `consumers` warpgroups multiplies `blocks` times 64 rows by all columns; they share
/// a ring of `stages`, and each of their warps has `boxes` for outgoing results. All work on one tile, or, in
/// ping-pong, each on its own, in turn: one multiplies while the others store.
template <std::uint32_t consumers_, std::uint32_t blocks_, std::uint32_t columns_, std::uint32_t stages_,
          std::uint32_t boxes_, std::uint32_t cluster_rows_ = 1, std::uint32_t cluster_columns_ = 1,
          bool ping_pong_ = false>
struct Config {
    static constexpr std::uint32_t consumers = consumers_;
    static constexpr std::uint32_t blocks = blocks_;
    static constexpr std::uint32_t columns = columns_;
    static constexpr std::uint32_t product_columns = columns;  // of a consumer
    static constexpr std::uint32_t stages = stages_;
    static constexpr std::uint32_t boxes = boxes_;
    static constexpr std::uint32_t cluster_rows = cluster_rows_;
    static constexpr std::uint32_t cluster_columns = cluster_columns_;

    static constexpr bool ping_pong = ping_pong_;

    static constexpr std::uint32_t turns = ping_pong ? consumers : 1;  // of consumers that take tiles by turns
    static constexpr std::uint32_t tile_consumers = consumers / turns;
    static constexpr std::uint32_t term_sets = turns;  // of a tile's rows and columns: one per tile in work
    static constexpr std::uint32_t rows = tile_consumers * blocks * product_rows;
    static constexpr std::uint32_t cluster = cluster_rows * cluster_columns;
    static constexpr std::uint32_t threads = (consumers + 1) * warpgroup_threads;
    static constexpr std::uint32_t a_slice =
        rows / cluster_columns;  // rows that a block copies for all that share them
    static constexpr std::uint32_t b_slice = columns / cluster_rows;
    static constexpr std::uint32_t a_bytes = rows * step_bytes;
    static constexpr std::uint32_t b_bytes = columns * step_bytes;
    static constexpr std::uint32_t chunks = columns / box_columns;
    static constexpr std::uint32_t warps = consumers * warps_per_warpgroup;

    static constexpr std::uint32_t a_at = 0;
    static constexpr std::uint32_t b_at = a_at + stages * a_bytes;
    static constexpr std::uint32_t boxes_at = b_at + stages * b_bytes;
    static constexpr std::uint32_t scales_at = boxes_at + warps * boxes * box_bytes;
    static constexpr std::uint32_t bias_at = scales_at + term_sets * rows * sizeof(float);
    static constexpr std::uint32_t barriers_at = bias_at + term_sets * columns * sizeof(float);
    static constexpr std::uint32_t barriers = 2 * stages + warps * boxes + (ping_pong ? consumers : 0) + 2 * term_sets;
    static constexpr std::uint32_t shared_bytes = barriers_at + barriers * 8;

    static constexpr bool moves_registers = consumers > 1;

    static constexpr std::uint32_t most_shared_bytes = 227 * 1024;
    static_assert(a_slice % 8 == 0 && b_slice % 8 == 0 && a_slice <= 256 && b_slice <= 256);
    static_assert(columns % box_columns == 0 && shared_bytes <= most_shared_bytes);
};

/// A thread's sums of a consumer's products.
template <class C>
using Sums = float[C::blocks][C::product_columns / 2];

/// A consumer's operands of a step: each `blocks` times 64 rows, and all its columns.
template <class C>
struct Matrices {
    std::uint64_t a[C::blocks];
    std::uint64_t b;
};

template <class C>
__device__ __forceinline__ void begin_at_zero(Sums<C>& sums) {
#pragma unroll
    for (auto& block : sums) {
#pragma unroll
        for (float& sum : block) {
            sum = 0;
        }
    }
}

struct Arguments {
    const float* bias = nullptr;            // null for none
    const std::uint32_t* active = nullptr;  // in device memory: number of active rows; null for all
    std::uint32_t columns;                  // of all tiles
    std::uint32_t steps;                    // of a tile's depth
    std::uint32_t tile_rows = 0;            // in cluster tiles, as is tile_columns
    std::uint32_t tile_columns = 0;
    std::uint32_t group_rows = 0;  // rows of cluster tiles that are traversed together, column by column
    Activation activation = Activation::none;
    bool residual = false;
    bool chained = false;
    const float* row_scales = nullptr;  // null for none
    std::uint32_t rows;                 // of all tiles
    RowNorm norm{};
    RowSums* out_sums = nullptr;   // null for none
    const float* scale = nullptr;  // of all sums; null for none
};

/// Addresses in shared memory: operands of each stage, boxes, scales, bias, and the barriers.
template <class C>
class Layout {
public:
    __device__ explicit Layout(std::uint32_t base) : base_(base) {}

    __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const {
        return base_ + C::a_at + stage * C::a_bytes;
    }
    __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const {
        return base_ + C::b_at + stage * C::b_bytes;
    }
    __device__ __forceinline__ std::uint32_t box(std::uint32_t warp, std::uint32_t box) const {
        return base_ + C::boxes_at + (warp * C::boxes + box) * box_bytes;
    }
    __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return barrier(stage); }
    __device__ __forceinline__ std::uint32_t free(std::uint32_t stage) const { return barrier(C::stages + stage); }
    /// Barrier on which the residual of a box arrives.
    __device__ __forceinline__ std::uint32_t residual(std::uint32_t warp, std::uint32_t box) const {
        return barrier(2 * C::stages + warp * C::boxes + box);
    }
    /// (rows) fp32: scales of a tile's rows.
    __device__ __forceinline__ std::uint32_t scales(std::uint32_t set) const {
        return base_ + C::scales_at + set * C::rows * static_cast<std::uint32_t>(sizeof(float));
    }
    /// (columns) fp32: bias of a tile's columns.
    __device__ __forceinline__ std::uint32_t bias(std::uint32_t set) const {
        return base_ + C::bias_at + set * C::columns * static_cast<std::uint32_t>(sizeof(float));
    }
    __device__ __forceinline__ std::uint32_t full_terms(std::uint32_t set) const {
        return barrier(C::barriers - 2 * C::term_sets + set);
    }
    __device__ __forceinline__ std::uint32_t free_terms(std::uint32_t set) const {
        return barrier(C::barriers - C::term_sets + set);
    }
    /// Ping-pong: the barrier that lets a consumer multiply.
    __device__ __forceinline__ std::uint32_t turn(std::uint32_t consumer) const {
        return barrier(2 * C::stages + C::warps * C::boxes + consumer);
    }

private:
    __device__ __forceinline__ std::uint32_t barrier(std::uint32_t number) const {
        return base_ + C::barriers_at + number * 8;
    }

    std::uint32_t base_;
};

/// The tiles of this block, in groups of rows: those computed at a time are about square, so that the L2 cache serves
/// most of their reads. All of them, or those of one of `turns`.
template <class C, std::uint32_t turns = 1>
class Tiles {
public:
    __device__ __forceinline__ explicit Tiles(const Arguments& arguments, std::uint32_t turn = 0)
        : arguments_(arguments),
          rank_row_(C::cluster == 1 ? 0 : blockIdx.x % C::cluster % C::cluster_rows),
          rank_column_(C::cluster == 1 ? 0 : blockIdx.x % C::cluster / C::cluster_rows),
          tile_rows_(active_tile_rows(arguments)),
          number_(blockIdx.x / C::cluster + turn * (gridDim.x / C::cluster)) {
        locate();
    }

    __device__ __forceinline__ bool any() const { return number_ < tile_rows_ * arguments_.tile_columns; }
    __device__ __forceinline__ bool last() const { return number_ + stride() >= tile_rows_ * arguments_.tile_columns; }
    __device__ __forceinline__ void next() {
        number_ += stride();
        locate();
    }
    /// First row and column of this block's tile.
    __device__ __forceinline__ int row() const {
        return static_cast<int>((row_ * C::cluster_rows + rank_row_) * C::rows);
    }
    __device__ __forceinline__ int column() const {
        return static_cast<int>((column_ * C::cluster_columns + rank_column_) * C::columns);
    }

private:
    __device__ __forceinline__ static std::uint32_t stride() { return turns * (gridDim.x / C::cluster); }
    __device__ __forceinline__ static std::uint32_t active_tile_rows(const Arguments& arguments) {
        if (arguments.active == nullptr) {
            return arguments.tile_rows;
        }
        constexpr std::uint32_t height = C::rows * C::cluster_rows;
        return min((*arguments.active + height - 1) / height, arguments.tile_rows);
    }

    __device__ __forceinline__ void locate() {
        if (!any()) {
            return;
        }
        const std::uint32_t of_group = arguments_.group_rows * arguments_.tile_columns;
        const std::uint32_t group = number_ / of_group;
        const std::uint32_t first = group * arguments_.group_rows;
        const std::uint32_t rows = min(arguments_.group_rows, tile_rows_ - first);
        const std::uint32_t inside = number_ - group * of_group;
        row_ = first + inside % rows;
        column_ = inside / rows;
    }

    const Arguments& arguments_;
    std::uint32_t rank_row_;
    std::uint32_t rank_column_;
    std::uint32_t tile_rows_;
    std::uint32_t number_;
    std::uint32_t row_ = 0;
    std::uint32_t column_ = 0;
};

}  // namespace sluice::gemm

#include "kernels/cuda/generator/product.hpp"

#include <algorithm>
#include <cstddef>

#include "core/error.hpp"
#include "kernels/cuda/generator/instructions.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::generator {

constexpr std::uint32_t product_stages = 4;
constexpr std::uint32_t chain_depth = 512;
constexpr std::uint32_t chain_steps = chain_depth / product_depth;

/// How a block multiplies a tile: a thread has row_fours times 4 rows, 16 apart, by column_fours times 4 columns, 32
/// apart; a warp is 4 threads by 8; a group of warps_down by warps_across warps has the tile. With two groups, one sums
/// up even chains, the other odd ones.
template <std::uint32_t row_fours_, std::uint32_t column_fours_, std::uint32_t warps_down, std::uint32_t warps_across_,
          std::uint32_t groups_>
struct ProductTile {
    static constexpr std::uint32_t row_fours = row_fours_;
    static constexpr std::uint32_t column_fours = column_fours_;
    static constexpr std::uint32_t warps_across = warps_across_;
    static constexpr std::uint32_t groups = groups_;

    static constexpr std::uint32_t rows = warps_down * row_fours * 16;
    static constexpr std::uint32_t columns = warps_across * column_fours * 32;
    static constexpr std::uint32_t group_threads = warps_down * warps_across * 32;
    static constexpr std::uint32_t threads = groups * group_threads;
    static constexpr std::uint32_t a_row =
        rows + 4;  // it lies transposed; padded, or what is copied meets in few banks
    static constexpr std::uint32_t a_floats = product_depth * a_row;
    static constexpr std::uint32_t stage_floats = a_floats + product_depth * columns;
    static constexpr std::uint32_t ring_floats = product_stages * stage_floats;  // of a group
    static constexpr std::uint32_t shared_floats = groups * ring_floats + (groups - 1) * rows * columns;
    static_assert(product_rows % rows == 0 && product_columns % columns == 0 && groups <= 2);
};

// Where rows are many each value that a thread reads should serve many sums; where they are few, all multiprocessors
// should have tiles.
using ManyRows = ProductTile<2, 2, 4, 2, 1>;           // 128 by 128
using FewRows = ProductTile<2, 1, 1, 2, 2>;            // 32 by 64
using FewRowsAndColumns = ProductTile<1, 1, 1, 2, 2>;  // 16 by 64
constexpr std::uint32_t few_product_rows = 512;
constexpr std::uint32_t few_product_columns = 256;
constexpr std::uint32_t few_product_blocks = 264;  // two for each multiprocessor of an H200

__device__ __forceinline__ float4& float4_at(float* at) {
    return *reinterpret_cast<float4*>(at);
}
__device__ __forceinline__ const float4& float4_at(const float* at) {
    return *reinterpret_cast<const float4*>(at);
}

__device__ __forceinline__ float4 add(const float4& a, const float4& b) {
    return {__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w)};
}

/// What a thread does in a block's tiles. The copy unit is three steps of depth ahead.
template <class Tile>
class TileProduct {
public:
    __device__ __forceinline__ TileProduct(const Product& product, float4* memory)
        : product_(product),
          group_(Tile::groups == 1 ? 0 : __shfl_sync(~0U, threadIdx.x / Tile::group_threads, 0)),
          thread_(threadIdx.x % Tile::group_threads),
          memory_(reinterpret_cast<float*>(memory)),
          ring_(reinterpret_cast<float*>(memory) + group_ * Tile::ring_floats) {
        const std::uint32_t lane = thread_ % 32;
        const std::uint32_t warp = thread_ / 32;
        row_ = warp / Tile::warps_across * (Tile::row_fours * 16) + lane / 8 * 4;
        column_ = warp % Tile::warps_across * (Tile::column_fours * 32) + lane % 8 * 4;
        const std::uint32_t base = ptx::shared_address(memory) + group_ * Tile::ring_floats * 4;
        to_a_ = base + (thread_ % product_depth * Tile::a_row + thread_ / product_depth) * 4;
        to_b_ = base + (Tile::a_floats + thread_ / row_pieces * Tile::columns + thread_ % row_pieces * 4) * 4;
        // Of the group that has the most.
        constexpr std::uint32_t all_groups = Tile::groups * chain_depth;
        const std::uint32_t rest = product.depth % all_groups;
        steps_ = product.depth / all_groups * chain_steps + min(rest, chain_depth) / product_depth;
    }

    __device__ __forceinline__ void multiply(std::uint32_t first_row, std::uint32_t first_column) {
        from_a_ =
            product_.in + std::size_t{first_row + thread_ / product_depth} * product_.depth + thread_ % product_depth;
        from_b_ = product_.weights + std::size_t{thread_ / row_pieces} * product_.columns + first_column +
                  thread_ % row_pieces * 4;
        out_ = product_.out + std::size_t{first_row + row_} * product_.columns + first_column + column_;
        bias_ = product_.bias + first_column + column_;
        synchronize();  // nobody reads the tile before
        for (std::uint32_t step = 0; step + 1 < product_stages; ++step) {
            copy(step);
        }
        clear();
        for (std::uint32_t step = 0; step < steps_; ++step) {
            ptx::wait_for_copies<product_stages - 2>();
            synchronize();  // this step is there, and the one before is no longer read
            copy(step + product_stages - 1);
            if (Tile::groups == 1 || depth_of(step, group_) < product_.depth) {
                multiply_step(step);
            }
            if ((step + 1) % chain_steps == 0 || step + 1 == steps_) {
                add_chains(step);
                clear();
            }
        }
    }

private:
    static constexpr std::uint32_t row_pieces = Tile::columns / 4;  // of 16 bytes, of a row of weights

    /// __syncthreads() wants the lanes of a warp together, which nobody promises behind branches.
    __device__ __forceinline__ static void synchronize() {
        __syncwarp();
        __syncthreads();
    }

    /// Where a step of a group begins.
    __device__ __forceinline__ static std::uint32_t depth_of(std::uint32_t step, std::uint32_t group) {
        return (step / chain_steps * Tile::groups + group) * chain_depth + step % chain_steps * product_depth;
    }

    __device__ __forceinline__ void copy(std::uint32_t step) const {
        const std::uint32_t depth = depth_of(step, group_);
        if (step < steps_ && depth < product_.depth) {
            const std::uint32_t at = step % product_stages * Tile::stage_floats * 4;
#pragma unroll
            for (std::uint32_t i = 0; i < Tile::rows; i += Tile::group_threads / product_depth) {
                copy_float(to_a_ + at + i * 4, from_a_ + std::size_t{i} * product_.depth + depth);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < product_depth; i += Tile::group_threads / row_pieces) {
                ptx::copy_16(to_b_ + at + i * Tile::columns * 4, from_b_ + std::size_t{depth + i} * product_.columns,
                             true);
            }
        }
        ptx::commit_copies();
    }

    __device__ __forceinline__ void multiply_step(std::uint32_t step) {
        const float* const of_a = ring_ + step % product_stages * Tile::stage_floats + row_;
        const float* const of_b = ring_ + step % product_stages * Tile::stage_floats + Tile::a_floats + column_;
#pragma unroll
        for (std::uint32_t k = 0; k < product_depth; ++k) {
            alignas(16) float rows[Tile::row_fours * 4];
            alignas(16) float columns[Tile::column_fours * 4];
#pragma unroll
            for (std::uint32_t i = 0; i < Tile::row_fours; ++i) {
                float4_at(rows + i * 4) = float4_at(of_a + k * Tile::a_row + i * 16);
            }
#pragma unroll
            for (std::uint32_t j = 0; j < Tile::column_fours; ++j) {
                float4_at(columns + j * 4) = float4_at(of_b + k * Tile::columns + j * 32);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < Tile::row_fours * 4; ++i) {
#pragma unroll
                for (std::uint32_t j = 0; j < Tile::column_fours * 4; ++j) {
                    sums_[i][j] = __fmaf_rn(rows[i], columns[j], sums_[i][j]);
                }
            }
        }
    }

    /// After `step`, a chain's last: adds the groups' chains, one after the other, to what is there.
    __device__ __forceinline__ void add_chains(std::uint32_t step) {
        const bool first = step < chain_steps;
        const bool odd_too = Tile::groups == 2 && depth_of(step / chain_steps * chain_steps, 1) < product_.depth;
        if constexpr (Tile::groups == 2) {
            if (group_ == 1) {
                each_four(
                    [&](std::uint32_t i, std::uint32_t j, float*, float4& odd) { odd = float4_at(sums_[i] + j * 4); });
            }
            synchronize();
            if (group_ == 1) {
                return;
            }
        }
        each_four([&](std::uint32_t i, std::uint32_t j, float* out, const float4& odd) {
            const float4 sum = add(float4_at(first ? bias_ + j * 32 : out), float4_at(sums_[i] + j * 4));
            float4_at(out) = odd_too ? add(sum, odd) : sum;
        });
    }

    /// Calls function(row, four columns, where they belong, where the other group's are) of this thread's sums.
    template <class Function>
    __device__ __forceinline__ void each_four(const Function& function) {
        auto* const odd = reinterpret_cast<float4*>(memory_ + Tile::groups * Tile::ring_floats) + thread_;
#pragma unroll
        for (std::uint32_t i = 0; i < Tile::row_fours * 4; ++i) {
#pragma unroll
            for (std::uint32_t j = 0; j < Tile::column_fours; ++j) {
                function(i, j, out_ + std::size_t{i / 4 * 16 + i % 4} * product_.columns + j * 32,
                         odd[(i * Tile::column_fours + j) * Tile::group_threads]);
            }
        }
    }

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (auto& row : sums_) {
#pragma unroll
            for (float& sum : row) {
                sum = 0;
            }
        }
    }

    const Product& product_;
    std::uint32_t group_;
    std::uint32_t thread_;  // of the group
    float* memory_;
    const float* ring_;
    std::uint32_t row_;  // of the tile: this thread's first
    std::uint32_t column_;
    std::uint32_t to_a_;
    std::uint32_t to_b_;
    std::uint32_t steps_;
    const float* from_a_ = nullptr;
    const float* from_b_ = nullptr;
    float* out_ = nullptr;
    const float* bias_ = nullptr;
    alignas(16) float sums_[Tile::row_fours * 4][Tile::column_fours * 4];
};

/// Numbers of rows that a kernel has a tile for; with others it does nothing.
struct RowRange {
    std::uint32_t above;
    std::uint32_t up_to;
};

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, 512 / Tile::threads)
    multiply_in_order(const __grid_constant__ Product product, RowRange range) {
    extern __shared__ float4 product_memory[];
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = *product.rows;
    if (rows <= range.above || rows > range.up_to) {
        return;
    }
    const std::uint32_t tile_columns = product.columns / Tile::columns;
    const std::uint32_t tiles = (rows + Tile::rows - 1) / Tile::rows * tile_columns;
    TileProduct<Tile> work(product, product_memory);
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        work.multiply(tile / tile_columns * Tile::rows, tile % tile_columns * Tile::columns);
    }
}

template <class Tile>
void enqueue_tiles(const Product& product, const RowRange& range, std::uint32_t most_blocks, cudaStream_t stream) {
    constexpr std::uint32_t shared_bytes = Tile::shared_floats * sizeof(float);
    check_cuda(
        cudaFuncSetAttribute(&multiply_in_order<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
    const std::uint32_t tiles =
        std::min(product.most_rows, range.up_to) / Tile::rows * (product.columns / Tile::columns);
    launch(&multiply_in_order<Tile>, "generator's product",
           {.blocks = std::min(tiles, most_blocks),
            .threads = Tile::threads,
            .shared_bytes = shared_bytes,
            .chained = true},
           stream, product, range);
}

void enqueue_product(const Product& product, cudaStream_t stream) {
    expects(product.most_rows % product_rows == 0 && product.columns % product_columns == 0 &&
                product.depth % product_depth == 0,
            "generator: a product that is not padded");
    constexpr RowRange few{.above = 0, .up_to = few_product_rows};
    if (product.columns > few_product_columns) {
        enqueue_tiles<FewRows>(product, few, few_product_blocks, stream);
    } else {
        enqueue_tiles<FewRowsAndColumns>(product, few, few_product_blocks, stream);
    }
    if (product.most_rows > few_product_rows) {
        constexpr RowRange many{.above = few_product_rows, .up_to = UINT32_MAX};
        enqueue_tiles<ManyRows>(product, many, UINT32_MAX, stream);
    }
}

}  // namespace sluice::generator

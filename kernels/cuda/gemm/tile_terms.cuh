#pragma once

#include <cstdint>
#include <iterator>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

namespace sluice::gemm {

/// The scales of a tile's rows and the bias of its columns, in shared memory: warps that copy nothing find them while
/// the tile is multiplied. An object is a consumer's, and goes from tile to tile with it.
template <class C>
class TileTerms {
public:
    __device__ __forceinline__ static void prepare(const Layout<C>& layout) {
        for (std::uint32_t set = 0; set < C::term_sets; ++set) {
            ptx::barrier_init(layout.full_terms(set), threads);
            ptx::barrier_init(layout.free_terms(set), C::tile_consumers * warps_per_warpgroup);
        }
    }

    /// Of all tiles of the block, by those warps. `column_of(first, c)`: the product's column that is column c of the
    /// tile whose first one is `first`.
    template <class ColumnOf>
    __device__ __forceinline__ static void produce(const Arguments& arguments, const Layout<C>& layout,
                                                   const ColumnOf& column_of) {
        constexpr std::uint32_t first = C::threads - threads;
        if (threadIdx.x < first) {
            return;
        }
        const float scale = arguments.scale == nullptr ? 1.0F : *arguments.scale;
        std::uint32_t number = 0;
        for (Tiles<C> tiles(arguments); tiles.any(); tiles.next(), ++number) {
            const std::uint32_t set = number % C::term_sets;
            ptx::wait(layout.free_terms(set), (number / C::term_sets % 2) ^ 1);
            float bias[(C::columns + threads - 1) / threads];  // in flight with the sums
#pragma unroll
            for (std::uint32_t i = 0; i < std::size(bias); ++i) {
                const std::uint32_t c = threadIdx.x - first + i * threads;
                const std::uint32_t column = column_of(static_cast<std::uint32_t>(tiles.column()), c);
                const bool any = arguments.bias != nullptr && c < C::columns && column < arguments.columns;
                bias[i] = any ? arguments.bias[column] : 0.0F;
            }
            for (std::uint32_t r = threadIdx.x - first; r < C::rows; r += threads) {
                const std::uint32_t row = min(static_cast<std::uint32_t>(tiles.row()) + r, arguments.rows - 1);
                ptx::store_shared(layout.scales(set) + r * 4, scale_of(arguments, row) * scale);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < std::size(bias); ++i) {
                const std::uint32_t c = threadIdx.x - first + i * threads;
                if (c < C::columns) {
                    ptx::store_shared(layout.bias(set) + c * 4, bias[i]);
                }
            }
            ptx::arrive(layout.full_terms(set));
        }
    }

    /// `first_row`: the warp's, in the consumer's first block. `first_tile`: the consumer's first one, among the
    /// block's.
    __device__ __forceinline__ TileTerms(const Layout<C>& layout, std::uint32_t first_row, std::uint32_t first_tile)
        : layout_(layout), first_row_(first_row), number_(first_tile) {}

    /// Waits for those of the next tile.
    __device__ __forceinline__ void wait() const {
        ptx::wait(layout_.full_terms(set()), number_ / C::term_sets % 2);
    }

    /// Loads the scales of the lane's two rows in a block.
    __device__ __forceinline__ void load_scales(std::uint32_t block) {
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            const std::uint32_t of_tile = first_row_ + block * product_rows + threadIdx.x % 32 / 4 + 8 * half;
            scales_[half] = ptx::load_shared_4(layout_.scales(set()) + of_tile * 4);
        }
    }

    /// Scales the lane's sums of a block from column `first` on, and adds the bias.
    template <std::uint32_t count>
    __device__ __forceinline__ void apply(float (&values)[count], std::uint32_t first) const {
        const std::uint32_t bias = layout_.bias(set()) + first * 4;
#pragma unroll
        for (std::uint32_t j = 0; j < count / 4; ++j) {
            const float2 two = ptx::load_shared_8(bias + (8 * j + threadIdx.x % 4 * 2) * 4);
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                values[4 * j + 2 * i] = fmaf(values[4 * j + 2 * i], scales_[i], two.x);
                values[4 * j + 2 * i + 1] = fmaf(values[4 * j + 2 * i + 1], scales_[i], two.y);
            }
        }
    }

    /// After the tile's last use. All lanes call.
    __device__ __forceinline__ void release() {
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            ptx::arrive(layout_.free_terms(set()));
        }
        number_ += C::turns;
    }

private:
    static constexpr std::uint32_t threads = warpgroup_threads - 32;  // of the copying warpgroup

    [[nodiscard]] __device__ __forceinline__ std::uint32_t set() const {
        return number_ % C::term_sets;
    }

    [[nodiscard]] __device__ __forceinline__ static float scale_of(const Arguments& arguments, std::uint32_t row) {
        static_assert(step_depth == summed_values);
        if (arguments.norm.sums == nullptr) {
            return arguments.row_scales == nullptr ? 1.0F : arguments.row_scales[row];
        }
        const RowSums all = sum_of(arguments.norm.sums + std::size_t{row} * arguments.steps, arguments.steps);
        const float per_value = 1.0F / static_cast<float>(arguments.steps * summed_values);
        const float mean = arguments.norm.is_rms ? 0 : all.values * per_value;
        const float variance = fmaf(all.squares, per_value, -mean * mean);
        return rsqrtf(fmaxf(variance, 0.0F) + arguments.norm.epsilon);
    }

    /// The sum of `count` sums in order, which are loaded several at a time: every product waits for them.
    [[nodiscard]] __device__ __forceinline__ static RowSums sum_of(const RowSums* sums, std::uint32_t count) {
        constexpr std::uint32_t at_once = 8;
        RowSums all{};
        for (; count != 0; count -= min(count, at_once), sums += at_once) {
            RowSums some[at_once];
#pragma unroll
            for (std::uint32_t i = 0; i < at_once; ++i) {
                some[i] = i < count ? sums[i] : RowSums{};
            }
#pragma unroll
            for (std::uint32_t i = 0; i < at_once; ++i) {
                all.values += some[i].values;
                all.squares += some[i].squares;
            }
        }
        return all;
    }

    Layout<C> layout_;
    std::uint32_t first_row_;
    std::uint32_t number_;  // of the tile, among the block's
    float scales_[2];       // of the lane's rows
};

}  // namespace sluice::gemm

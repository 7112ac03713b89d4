#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/ordered/gelu.cuh"
#include "kernels/cuda/ordered/product.hpp"
#include "kernels/cuda/ptx.cuh"

/// How a block multiplies its tiles.
namespace sluice::ordered {

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
    static constexpr bool many_a_block = groups == 2;  // where they are small

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

/// What the last chain's sums become: the product, or what the kernel is for.
enum class End : std::uint8_t { values, gelu, sums };

__device__ __forceinline__ float4& float4_at(float* at) {
    return *reinterpret_cast<float4*>(at);
}
__device__ __forceinline__ const float4& float4_at(const float* at) {
    return *reinterpret_cast<const float4*>(at);
}

__device__ __forceinline__ float4 add(const float4& a, const float4& b) {
    return {__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w)};
}

__device__ __forceinline__ float4 gelu_of(const float4& x) {
    return {gelu_of(x.x), gelu_of(x.y), gelu_of(x.z), gelu_of(x.w)};
}

/// Four bytes to shared memory, asynchronously: what lies beside each other in a row may come to lie rows apart.
__device__ __forceinline__ void copy_float(std::uint32_t to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/// What a thread does in a block's tiles. The copy unit is three steps of depth ahead.
template <class Tile, End end>
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
        at_ = std::size_t{first_row + row_} * product_.columns + first_column + column_;
        bias_ = product_.bias + first_column + column_;
        if constexpr (Tile::many_a_block) {
            __syncthreads();  // nobody reads the tile before
        }
        for (std::uint32_t step = 0; step + 1 < product_stages; ++step) {
            copy(step);
        }
        clear();
        for (std::uint32_t step = 0; step < steps_; ++step) {
            ptx::wait_for_copies<product_stages - 2>();
            __syncthreads();  // this step is there, and the one before is no longer read
            copy(step + product_stages - 1);
            if (Tile::groups == 1 || depth_of(step, group_) < product_.depth) {
                multiply_step(step);
            }
            if ((step + 1) % chain_steps == 0 && step + 1 < steps_) {
                add_chains<End::values>(step);
                clear();
            }
        }
        add_chains<end>(steps_ - 1);
    }

private:
    static constexpr std::uint32_t row_pieces = Tile::columns / 4;  // of 16 bytes, of a row of weights

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

    /// After `step`, a chain's last: adds the groups' chains, one after the other, to what is there. The sums are open
    /// then.
    template <End becomes>
    __device__ __forceinline__ void add_chains(std::uint32_t step) {
        const bool odd_too = Tile::groups == 2 && depth_of(step / chain_steps * chain_steps, 1) < product_.depth;
        if constexpr (Tile::groups == 2) {
            if (group_ == 1) {
                each_four(0, Tile::row_fours * 4,
                          [&](std::uint32_t i, std::uint32_t j, const float4& sum) { odd_at(i, j) = sum; });
            }
            __syncthreads();
            if (group_ == 1) {
                return;
            }
        }
        const bool first = step < chain_steps;
        const float* const before = first ? bias_ : product_.out + at_;
        const std::uint32_t stride = first ? 0 : product_.columns;
        float* const to = (becomes == End::sums ? product_.sums : product_.out) + at_;
        // Four rows at a time, so that what is added is on its way together.
#pragma unroll
        for (std::uint32_t rows = 0; rows < Tile::row_fours * 4; rows += 4) {
            each_four(rows, rows + 4, [&](std::uint32_t i, std::uint32_t j, float4& sum) {
                sum = add(float4_at(before + place(i, j, stride)), sum);
            });
            if (odd_too) {
                each_four(rows, rows + 4,
                          [&](std::uint32_t i, std::uint32_t j, float4& sum) { sum = add(sum, odd_at(i, j)); });
            }
            if constexpr (becomes == End::sums) {
                each_four(rows, rows + 4, [&](std::uint32_t i, std::uint32_t j, float4& sum) {
                    sum = add(float4_at(to + place(i, j, product_.columns)), sum);
                });
            }
            each_four(rows, rows + 4, [&](std::uint32_t i, std::uint32_t j, const float4& sum) {
                float4_at(to + place(i, j, product_.columns)) = becomes == End::gelu ? gelu_of(sum) : sum;
            });
        }
    }

    /// Calls function(row, four columns, their sums) of this thread's rows from `first` on.
    template <class Function>
    __device__ __forceinline__ void each_four(std::uint32_t first, std::uint32_t past, const Function& function) {
#pragma unroll
        for (std::uint32_t i = first; i < past; ++i) {
#pragma unroll
            for (std::uint32_t j = 0; j < Tile::column_fours; ++j) {
                function(i, j, float4_at(sums_[i] + j * 4));
            }
        }
    }

    /// From this thread's first element to four others.
    __device__ __forceinline__ static std::size_t place(std::uint32_t i, std::uint32_t j, std::uint32_t stride) {
        return std::size_t{i / 4 * 16 + i % 4} * stride + j * 32;
    }

    /// Where the other group's sums are.
    __device__ __forceinline__ float4& odd_at(std::uint32_t i, std::uint32_t j) const {
        auto* const odd = reinterpret_cast<float4*>(memory_ + Tile::groups * Tile::ring_floats) + thread_;
        return odd[(i * Tile::column_fours + j) * Tile::group_threads];
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
    std::size_t at_ = 0;
    const float* bias_ = nullptr;
    alignas(16) float sums_[Tile::row_fours * 4][Tile::column_fours * 4];
};

}  // namespace sluice::ordered

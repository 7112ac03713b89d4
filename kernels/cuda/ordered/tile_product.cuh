#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/ordered/gelu.cuh"
#include "kernels/cuda/ordered/product.hpp"
#include "kernels/cuda/ordered/product_tile.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

/// How a block multiplies its tiles.
namespace sluice::ordered {

/// What is done with a tile's complete sums: they are stored in `out`, or their GELU is, or they are added to `sums`.
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

/// Copies four bytes to shared memory asynchronously; 16 at a time could not be transposed.
__device__ __forceinline__ void copy_float(std::uint32_t to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/// What a thread multiplies at one k: values of its rows and of its columns.
template <class Tile>
struct Factors {
    alignas(16) float rows[Tile::row_fours * 4];
    alignas(16) float columns[Tile::column_fours * 4];
};

/// A thread's work on a block's tiles. Copies to shared memory are three steps ahead; factors are loaded from there one
/// k ahead, across steps too, so that the products of a step's last k hide the loads after the barrier.
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
        // Neighbours share columns, lanes two apart rows: shared memory then serves half a warp at once.
        row_ = warp / Tile::warps_across * (Tile::row_fours * 16) + (lane / 16 * 2 + lane % 2) * 4;
        column_ = warp % Tile::warps_across * (Tile::column_fours * 32) + lane / 2 % 8 * 4;
        const std::uint32_t base = ptx::shared_address(memory) + group_ * Tile::ring_floats * 4;
        to_a_ = base + (thread_ % Tile::row_part * Tile::a_row + thread_ / Tile::row_part) * 4;
        to_b_ = base + (Tile::a_floats + thread_ / row_pieces * Tile::columns + thread_ % row_pieces * 4) * 4;
        // Steps of the group that has most of them.
        constexpr std::uint32_t all_groups = Tile::groups * chain_depth;
        const std::uint32_t rest = product.depth % all_groups;
        steps_ = product.depth / all_groups * chain_steps + min(rest, chain_depth) / product_depth;
    }

    /// The tile's first `others` rows, a multiple of 16, are another tile's: not written.
    __device__ __forceinline__ void multiply(std::uint32_t first_row, std::uint32_t others,
                                             std::uint32_t first_column) {
        others_ = others;
        const std::uint32_t depth = group_ * chain_depth;
        from_a_ = product_.in + std::size_t{first_row + thread_ / Tile::row_part} * product_.depth + depth +
                  thread_ % Tile::row_part;
        from_b_ = product_.weights + std::size_t{depth + thread_ / row_pieces} * product_.columns + first_column +
                  thread_ % row_pieces * 4;
        at_ = std::size_t{first_row + row_} * product_.columns + first_column + column_;
        bias_ = product_.bias + first_column + column_;
        copied_ = 0;
        copy_to_ = 0;
        read_from_ = 0;
        if constexpr (Tile::loops_over_tiles) {
            __syncthreads();  // no thread reads the previous tile any more
        }
        for (std::uint32_t step = 0; step + 1 < product_stages; ++step) {
            copy();
        }
        expect_copies();
        load(factors_[0], 0);
        std::uint32_t step = 0;
        while (true) {
            clear();
            const std::uint32_t end_of_chain = min(steps_, step + chain_steps);
#pragma unroll 1
            for (; step < end_of_chain; ++step) {
                multiply_step(Tile::groups == 1 || depth_of(step) < product_.depth);
            }
            if (step == steps_) {
                break;
            }
            add_chains<End::values>(step - 1);
        }
        add_chains<end>(step - 1);
    }

private:
    static constexpr std::uint32_t row_pieces = Tile::columns / 4;  // of 16 bytes, of a row of weights
    static constexpr std::uint32_t last_stage = (product_stages - 1) * Tile::stage_floats;

    /// The k at which a step of this thread's group begins.
    __device__ __forceinline__ std::uint32_t depth_of(std::uint32_t step) const {
        return (step / chain_steps * Tile::groups + group_) * chain_depth + step % chain_steps * product_depth;
    }

    /// Starts the copies of the group's next step, if there is one.
    __device__ __forceinline__ void copy() {
        if (copied_ < steps_ && (Tile::groups == 1 || depth_of(copied_) < product_.depth)) {
#pragma unroll
            for (std::uint32_t i = 0; i < Tile::rows; i += Tile::copied_rows) {
#pragma unroll
                for (std::uint32_t k = 0; k < product_depth; k += Tile::row_part) {
                    copy_float(to_a_ + copy_to_ + (i + k * Tile::a_row) * 4,
                               from_a_ + std::size_t{i} * product_.depth + k);
                }
            }
#pragma unroll
            for (std::uint32_t i = 0; i < product_depth; i += Tile::group_threads / row_pieces) {
                ptx::copy_16(to_b_ + copy_to_ + i * Tile::columns * 4, from_b_ + std::size_t{i} * product_.columns,
                             true);
            }
            ++copied_;
            const bool ends_chain = Tile::groups > 1 && copied_ % chain_steps == 0;
            const std::uint32_t further = product_depth + (ends_chain ? (Tile::groups - 1) * chain_depth : 0);
            from_a_ += further;
            from_b_ += std::size_t{further} * product_.columns;
            copy_to_ = copy_to_ == last_stage * 4 ? 0 : copy_to_ + Tile::stage_floats * 4;
        }
        ptx::commit_copies();
    }

    /// Afterwards the next step has arrived, and no thread reads the previous one.
    __device__ __forceinline__ static void expect_copies() {
        ptx::wait_for_copies<product_stages - 2>();
        __syncthreads();
    }

    __device__ __forceinline__ void load(Factors<Tile>& factors, std::uint32_t k) const {
        const float* const of_a = ring_ + read_from_ + row_ + k * Tile::a_row;
        const float* const of_b = ring_ + read_from_ + Tile::a_floats + column_ + k * Tile::columns;
#pragma unroll
        for (std::uint32_t i = 0; i < Tile::row_fours; ++i) {
            float4_at(factors.rows + i * 4) = float4_at(of_a + i * 16);
        }
#pragma unroll
        for (std::uint32_t j = 0; j < Tile::column_fours; ++j) {
            float4_at(factors.columns + j * 4) = float4_at(of_b + j * 32);
        }
    }

    /// Goes through the columns forwards and backwards by turns, so that each product shares a factor with the one
    /// before: that is not read again, and the two banks of registers keep up with one product per cycle.
    __device__ __forceinline__ void multiply_depth(const Factors<Tile>& factors) {
#pragma unroll
        for (std::uint32_t i = 0; i < Tile::row_fours * 4; ++i) {
#pragma unroll
            for (std::uint32_t n = 0; n < Tile::column_fours * 4; ++n) {
                const std::uint32_t j = i % 2 == 0 ? n : Tile::column_fours * 4 - 1 - n;
                sums_[i][j] = __fmaf_rn(factors.rows[i], factors.columns[j], sums_[i][j]);
            }
        }
    }

    /// The last step of a group may have nothing to multiply. What is loaded beyond the last step is not used.
    __device__ __forceinline__ void multiply_step(bool multiplies) {
        constexpr std::uint32_t last = product_depth - 1;
        static_assert(last % 2 == 1);
        if (multiplies) {
#pragma unroll
            for (std::uint32_t k = 0; k < last; ++k) {
                load(factors_[(k + 1) % 2], k + 1);
                if (k == 0) {
                    copy();
                }
                multiply_depth(factors_[k % 2]);
            }
        } else {
            copy();
        }
        expect_copies();
        read_from_ = read_from_ == last_stage ? 0 : read_from_ + Tile::stage_floats;
        load(factors_[0], 0);
        if (multiplies) {
            multiply_depth(factors_[1]);
        }
    }

    /// After `step`, a chain's last: adds the groups' chains in the order of k to the bias, or to what earlier chains
    /// left in `out`. sums_ are unspecified afterwards.
    template <End becomes>
    __device__ __forceinline__ void add_chains(std::uint32_t step) {
        const std::uint32_t first_chain = step / chain_steps * Tile::groups * chain_depth;
        if constexpr (Tile::groups > 1) {
            if (group_ > 0) {
                each_four(0, Tile::row_fours * 4,
                          [&](std::uint32_t i, std::uint32_t j, const float4& sum) { left_at(group_, i, j) = sum; });
            }
            __syncthreads();
            if (group_ > 0) {
                return;
            }
        }
        const bool first = step < chain_steps;
        const float* const before = first ? bias_ : product_.out + at_;
        const std::uint32_t stride = first ? 0 : product_.columns;
        float* const to = (becomes == End::sums ? product_.sums : product_.out) + at_;
        // Four rows at a time, so that their loads are in flight together.
#pragma unroll
        for (std::uint32_t rows = 0; rows < Tile::row_fours * 4; rows += 4) {
            if (!Tile::divides_rows && row_ + rows * 4 < others_) {
                continue;
            }
            each_four(rows, rows + 4, [&](std::uint32_t i, std::uint32_t j, float4& sum) {
                sum = add(float4_at(before + place(i, j, stride)), sum);
            });
#pragma unroll
            for (std::uint32_t group = 1; group < Tile::groups; ++group) {
                if (first_chain + group * chain_depth < product_.depth) {
                    each_four(rows, rows + 4, [&](std::uint32_t i, std::uint32_t j, float4& sum) {
                        sum = add(sum, left_at(group, i, j));
                    });
                }
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

    /// Offset of four columns of a row from this thread's first element.
    __device__ __forceinline__ static std::size_t place(std::uint32_t i, std::uint32_t j, std::uint32_t stride) {
        return std::size_t{i / 4 * 16 + i % 4} * stride + j * 32;
    }

    /// Another group's sums, in shared memory.
    __device__ __forceinline__ float4& left_at(std::uint32_t group, std::uint32_t i, std::uint32_t j) const {
        constexpr std::uint32_t of_thread = Tile::row_fours * 4 * Tile::column_fours;
        auto* const left = reinterpret_cast<float4*>(memory_ + Tile::groups * Tile::ring_floats) + thread_;
        return left[((group - 1) * of_thread + i * Tile::column_fours + j) * Tile::group_threads];
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
    std::uint32_t others_ = 0;
    std::uint32_t to_a_;
    std::uint32_t to_b_;
    std::uint32_t steps_;
    std::uint32_t copied_ = 0;     // steps
    std::uint32_t copy_to_ = 0;    // bytes of the ring
    std::uint32_t read_from_ = 0;  // floats of the ring
    const float* from_a_ = nullptr;
    const float* from_b_ = nullptr;
    std::size_t at_ = 0;
    const float* bias_ = nullptr;
    Factors<Tile> factors_[2];
    alignas(16) float sums_[Tile::row_fours * 4][Tile::column_fours * 4];
};

}  // namespace sluice::ordered

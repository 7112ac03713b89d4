#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/decoder/float_kernel.cuh"

/// The product's kernel of which two consumers take turns: each has tiles of its own, and stores one while the other
/// multiplies. (The same as CUTLASS's ping-pong schedule.)
namespace sluice::decoder {

/// A consumer multiplies the tile's both halves of 64 rows. Both have one ring of stages: a stage is for the consumer
/// whose tile it is of.
template <std::uint32_t columns, std::uint32_t stages, std::uint32_t cluster_rows>
struct TurnsConfig : gemm::Config<1, 2, columns, stages, 1, cluster_rows, 1> {
    static constexpr std::uint32_t turns = 2;
    static constexpr std::uint32_t threads = (turns + 1) * gemm::warpgroup_threads;
};

/// A consumer's tiles, which are every other one of its block's.
template <class C>
class TurnTiles {
public:
    __device__ __forceinline__ TurnTiles(const gemm::Arguments& arguments, std::uint32_t consumer)
        : tiles_(arguments), steps_(arguments.steps) {
        if (consumer != 0) {
            pass_over();
        }
    }

    __device__ __forceinline__ bool any() const { return tiles_.any(); }
    /// Behind a tile whose stages were all used.
    __device__ __forceinline__ void next() {
        tiles_.next();
        pass_over();
    }
    __device__ __forceinline__ std::uint32_t row() const { return static_cast<std::uint32_t>(tiles_.row()); }
    __device__ __forceinline__ std::uint32_t column() const { return static_cast<std::uint32_t>(tiles_.column()); }

    ptx::Ring<C::stages> ring;

private:
    /// The other consumer's tile.
    __device__ __forceinline__ void pass_over() {
        tiles_.next();
        const std::uint32_t stage = ring.stage + steps_;
        ring.parity ^= stage / C::stages % 2;
        ring.stage = stage % C::stages;
    }

    gemm::Tiles<C> tiles_;
    std::uint32_t steps_;
};

/// A thread's part of a tile's sums: in each of four rows two of every eight columns.
template <class C>
class TurnEpilogue {
public:
    using Sums = float[C::blocks][C::columns / 2];

    __device__ __forceinline__ TurnEpilogue(const gemm::Arguments& arguments, const FloatProductArguments& floats)
        : arguments_(arguments), floats_(floats), thread_(threadIdx.x % gemm::warpgroup_threads) {}

    /// Before a tile is multiplied: its sums begin with the bias, and what is added to them is asked for.
    __device__ __forceinline__ void begin(Sums& sums, std::uint32_t row, std::uint32_t column) const {
#pragma unroll
        for (std::uint32_t j = 0; j < C::columns / 8; ++j) {
            const std::uint32_t at = column_of(column, j);
            const bool exists = arguments_.bias != nullptr && at < arguments_.columns;
            const float2 bias = exists ? ptx::load_global_8(arguments_.bias + at) : float2{0, 0};
#pragma unroll
            for (std::uint32_t block = 0; block < C::blocks; ++block) {
                sums[block][4 * j] = bias.x;
                sums[block][4 * j + 1] = bias.y;
                sums[block][4 * j + 2] = bias.x;
                sums[block][4 * j + 3] = bias.y;
            }
        }
        static_assert(C::rows == gemm::warpgroup_threads, "each thread asks for a row");
        const std::uint32_t bytes = min(C::columns, arguments_.columns - column) / 4 * 16;
        if (floats_.residual != nullptr && floats_.stride % 4 == 0 && bytes != 0 &&
            row + thread_ < *arguments_.active) {
            ptx::prefetch(floats_.residual + std::size_t{row + thread_} * floats_.stride + column, bytes);
        }
    }

    __device__ __forceinline__ void store(Sums& sums, std::uint32_t row, std::uint32_t column) const {
        const std::uint32_t rows = *arguments_.active;
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            const std::uint32_t first =
                row + block * gemm::product_rows + thread_ / warp_lanes * 16 + thread_ % warp_lanes / 4;
#pragma unroll
            for (std::uint32_t j = 0; j < C::columns / 8; j += batch) {
                store_batch(sums[block], j, first, rows, column);
            }
        }
    }

private:
    static constexpr std::uint32_t batch = 4;  // eights of columns whose additions are on their way together

    __device__ __forceinline__ std::uint32_t column_of(std::uint32_t column, std::uint32_t j) const {
        return column + 8 * j + thread_ % 4 * 2;
    }

    __device__ __forceinline__ void store_batch(float (&sums)[C::columns / 2], std::uint32_t from, std::uint32_t first,
                                                std::uint32_t rows, std::uint32_t column) const {
        float values[4 * batch];
#pragma unroll
        for (std::uint32_t i = 0; i < 4 * batch; ++i) {
            values[i] = sums[4 * from + i];
        }
        gemm::activate(values, arguments_.activation);
        if (floats_.residual != nullptr) {
            float2 others[batch][2];
#pragma unroll
            for (std::uint32_t j = 0; j < batch; ++j) {
#pragma unroll
                for (std::uint32_t i = 0; i < 2; ++i) {
                    const std::uint32_t at = column_of(column, from + j);
                    const bool exists = at < arguments_.columns && first + 8 * i < rows;
                    others[j][i] = exists ? *reinterpret_cast<const float2*>(floats_.residual + place(first, i, at))
                                          : float2{0, 0};
                }
            }
#pragma unroll
            for (std::uint32_t j = 0; j < batch; ++j) {
#pragma unroll
                for (std::uint32_t i = 0; i < 2; ++i) {
                    values[4 * j + 2 * i] += others[j][i].x;
                    values[4 * j + 2 * i + 1] += others[j][i].y;
                }
            }
        }
        if (floats_.rounds_to_tf32) {
#pragma unroll
            for (float& value : values) {
                value = values::round_tf32(value);
            }
        }
#pragma unroll
        for (std::uint32_t j = 0; j < batch; ++j) {
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                const std::uint32_t at = column_of(column, from + j);
                if (at < arguments_.columns && first + 8 * i < rows) {
                    *reinterpret_cast<float2*>(floats_.out + place(first, i, at)) = {values[4 * j + 2 * i],
                                                                                     values[4 * j + 2 * i + 1]};
                }
            }
        }
    }

    __device__ __forceinline__ std::size_t place(std::uint32_t first, std::uint32_t i, std::uint32_t at) const {
        return std::size_t{first + 8 * i} * floats_.stride + at;
    }

    const gemm::Arguments& arguments_;
    const FloatProductArguments& floats_;
    std::uint32_t thread_;
};

/// The barrier that says that it is this consumer's turn: the one before has waited for all of its tile's stages. Until
/// then a stage may be two rounds behind, which a parity does not tell from none.
template <class C>
__device__ __forceinline__ std::uint32_t turn_of(const gemm::Layout<C>& layout, std::uint32_t consumer) {
    return layout.residual(consumer);  // of these the kernel needs none for another end
}

template <class Type, class C>
__device__ __forceinline__ void consume_in_turns(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                                 const gemm::Layout<C>& layout, std::uint32_t consumer) {
    const gemm::Sharers<C> ranks(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    const std::uint32_t sharers = ranks.of_a() | ranks.of_b();
    constexpr std::uint32_t block_bytes = gemm::product_rows * gemm::step_bytes;
    const TurnEpilogue<C> epilogue(arguments, floats);
    TurnTiles<C> tiles(arguments, consumer);
    std::uint32_t turn_parity = consumer ^ 1;  // nobody is before the first consumer's first tile
    while (tiles.any()) {
        typename TurnEpilogue<C>::Sums sums;
        epilogue.begin(sums, tiles.row(), tiles.column());
        ptx::wait(turn_of(layout, consumer), turn_parity);
        turn_parity ^= 1;
        std::uint32_t used = C::stages;  // none yet
        for (std::uint32_t step = 0; step < arguments.steps; ++step, tiles.ring.next()) {
            const std::uint32_t stage = tiles.ring.stage;
            ptx::wait(layout.full(stage), tiles.ring.parity);
            const std::uint64_t b = wgmma::matrix(layout.b(stage));
            const std::uint64_t a = wgmma::matrix(layout.a(stage));
            wgmma::fence();
#pragma unroll
            for (std::uint32_t k = 0; k < gemm::step_bytes; k += 32) {
#pragma unroll
                for (std::uint32_t block = 0; block < C::blocks; ++block) {
                    wgmma::multiply<Type, C::columns>(sums[block], a + wgmma::advance(block * block_bytes + k),
                                                      b + wgmma::advance(k));
                }
            }
            wgmma::commit();
            wgmma::wait<1>();  // the step before is done
            if (used != C::stages) {
                gemm::free_stage<C>(layout.free(used), sharers);
            }
            used = stage;
        }
        if (threadIdx.x % gemm::warpgroup_threads == 0) {
            ptx::arrive(turn_of(layout, consumer ^ 1));
        }
        wgmma::wait<0>();
        gemm::free_stage<C>(layout.free(used), sharers);
        epilogue.store(sums, tiles.row(), tiles.column());
        tiles.next();
        if (!tiles.any()) {
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // nobody arrives at the barriers of a block that is gone
            }
        }
    }
}

template <class Type, class C>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_in_turns(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                      const __grid_constant__ gemm::Arguments arguments,
                      const __grid_constant__ FloatProductArguments floats) {
    const std::uint32_t base = ptx::shared_address(float_memory);
    const gemm::Layout<C> layout((base + gemm::pattern_bytes - 1) / gemm::pattern_bytes * gemm::pattern_bytes);
    if (threadIdx.x == 0) {
        for (std::uint32_t consumer = 0; consumer < C::turns; ++consumer) {
            ptx::barrier_init(turn_of(layout, consumer), 1);
        }
    }
    begin_float_product(layout, &a_map, &b_map);
    const std::uint32_t warpgroup = __shfl_sync(every_lane, threadIdx.x / gemm::warpgroup_threads, 0);
    if (warpgroup == C::turns) {
        ptx::give_registers<C::producer_registers>();
        if (threadIdx.x == C::turns * gemm::warpgroup_threads) {
            gemm::produce<C, float_step_depth<Type>>(arguments, layout, &a_map, &b_map);
        }
    } else {
        ptx::take_registers<C::consumer_registers>();
        consume_in_turns<Type, C>(arguments, floats, layout, warpgroup);
    }
}

/// 128 by 192, of which 8,448 rows by 768 columns give each consumer of an H200 one.
template <class Type>
FloatProductKernel make_product_in_turns() {
    using C = TurnsConfig<192, 5, 2>;
    return make_float_kernel<Type, C>(&multiply_in_turns<Type, C>);
}

}  // namespace sluice::decoder

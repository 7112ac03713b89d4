#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/ptx_cluster.cuh"
#include "kernels/cuda/ptx_sm90a.cuh"
#include "kernels/cuda/wgmma_wide.cuh"

/// The kernel behind Gemm; see there.
namespace sluice::gemm {

/// Blocks of the cluster that share rows of a with this one, as bits of their ranks, and those that share rows of b.
template <class C>
struct Sharers {
    std::uint32_t row;
    std::uint32_t column;

    __device__ __forceinline__ explicit Sharers(std::uint32_t rank)
        : row(rank % C::cluster_rows), column(rank / C::cluster_rows) {}

    __device__ __forceinline__ std::uint16_t of_a() const {
        std::uint32_t ranks = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < C::cluster_columns; ++i) {
            ranks |= 1U << (row + i * C::cluster_rows);
        }
        return static_cast<std::uint16_t>(ranks);
    }
    __device__ __forceinline__ std::uint16_t of_b() const {
        return static_cast<std::uint16_t>(((1U << C::cluster_rows) - 1) << (column * C::cluster_rows));
    }
};

/// Copies the rows of all tiles, one step of depth after the other: `depth_of_step` values of each row.
template <class C, std::uint32_t depth_of_step = step_depth>
__device__ __forceinline__ void produce(const Arguments& arguments, const Layout<C>& layout, const CUtensorMap* a_map,
                                        const CUtensorMap* b_map) {
    const Sharers<C> sharers(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    ptx::Ring<C::stages> ring;
    for (Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const int row = tiles.row() + static_cast<int>(sharers.column * C::a_slice);
        const int column = tiles.column() + static_cast<int>(sharers.row * C::b_slice);
        for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
            const int depth = static_cast<int>(step * depth_of_step);
            ptx::wait(layout.free(ring.stage), ring.parity ^ 1);
            const std::uint32_t full = layout.full(ring.stage);
            ptx::arrive_expecting(full, C::a_bytes + C::b_bytes);
            const std::uint32_t a = layout.a(ring.stage) + sharers.column * C::a_slice * step_bytes;
            const std::uint32_t b = layout.b(ring.stage) + sharers.row * C::b_slice * step_bytes;
            if constexpr (C::cluster_columns > 1) {
                ptx::load_2d_to_many(a, a_map, full, depth, row, sharers.of_a());
            } else {
                ptx::load_2d(a, a_map, full, depth, row);
            }
            if constexpr (C::cluster_rows > 1) {
                ptx::load_2d_to_many(b, b_map, full, depth, column, sharers.of_b());
            } else {
                ptx::load_2d(b, b_map, full, depth, column);
            }
        }
    }
}

/// Tells all blocks that copy into this one's stage that a consumer is done with it.
template <class C>
__device__ __forceinline__ void free_stage(std::uint32_t barrier, std::uint32_t sharers) {
    const std::uint32_t thread = threadIdx.x % warpgroup_threads;
    if constexpr (C::cluster == 1) {
        if (thread == 0) {
            ptx::arrive(barrier);
        }
    } else {
        if (thread < C::cluster && (sharers >> thread & 1) != 0) {
            ptx::arrive_at(barrier, thread);
        }
    }
}

/// In ping-pong, whose turn it is to multiply: of a barrier only the phase before can be told from the one that is
/// waited for, so that nobody may wait for a stage before those that come first are read.
template <class C>
class Turns {
public:
    __device__ __forceinline__ Turns(const Layout<C>& layout, std::uint32_t consumer)
        : layout_(layout), consumer_(consumer), parity_(consumer == 0 ? 1 : 0) {}

    /// The number of the consumer's first tile.
    __device__ __forceinline__ std::uint32_t first() const { return C::ping_pong ? consumer_ : 0; }

    __device__ __forceinline__ void wait() {
        if constexpr (C::ping_pong) {
            ptx::wait(layout_.turn(consumer_), parity_);
            parity_ ^= 1;
        }
    }
    /// After the last product of a tile has begun.
    __device__ __forceinline__ void pass_on() const {
        if constexpr (C::ping_pong) {
            if (threadIdx.x % warpgroup_threads == 0) {
                ptx::arrive(layout_.turn((consumer_ + 1) % C::consumers));
            }
        }
    }

private:
    Layout<C> layout_;
    std::uint32_t consumer_;
    std::uint32_t parity_;
};

template <class Type, class C>
__device__ __forceinline__ void consume(const Arguments& arguments, const Layout<C>& layout, const CUtensorMap* out_map,
                                        const CUtensorMap* residual_map, std::uint32_t consumer) {
    const Sharers<C> ranks(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    const std::uint32_t sharers = ranks.of_a() | ranks.of_b();
    constexpr std::uint32_t block_bytes = product_rows * step_bytes;
    const std::uint32_t of_tile = C::ping_pong ? 0 : consumer;
    Turns<C> turns(layout, consumer);
    Epilogue<Type, C> epilogue(arguments, layout, out_map, residual_map, consumer);
    ptx::Ring<C::stages> ring;
    ring.skip(turns.first() * arguments.steps);
    for (Tiles<C, C::turns> tiles(arguments, turns.first()); tiles.any(); tiles.next()) {
        epilogue.begin(tiles.row(), tiles.column());
        // To tell the first product not to read its sums would keep those of the tile before it alive while they are
        // stored: twice as many registers.
        float sums[C::blocks][C::columns / 2] = {};
        std::uint32_t used = C::stages;  // none yet
        turns.wait();
        for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
            ptx::wait(layout.full(ring.stage), ring.parity);
            const std::uint64_t b = wgmma::matrix(layout.b(ring.stage));
            const std::uint64_t a = wgmma::matrix(layout.a(ring.stage) + of_tile * C::blocks * block_bytes);
            wgmma::fence();
#pragma unroll
            for (std::uint32_t k = 0; k < step_bytes; k += 32) {
#pragma unroll
                for (std::uint32_t block = 0; block < C::blocks; ++block) {
                    wgmma::multiply<Type, C::columns>(sums[block], a + wgmma::advance(block * block_bytes + k),
                                                      b + wgmma::advance(k));
                }
            }
            wgmma::commit();
            wgmma::wait<1>();  // the step before is done
            if (used != C::stages) {
                free_stage<C>(layout.free(used), sharers);
            }
            used = ring.stage;
        }
        turns.pass_on();
        epilogue.load_bias();
        wgmma::wait<0>();
        free_stage<C>(layout.free(used), sharers);
        ring.skip((C::turns - 1) * arguments.steps);
        epilogue.store(sums);
        if (tiles.last()) {  // not after the loop: the compiler would give this role no more registers than others
            ptx::wait_for_stores();  // they read this block's shared memory
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // nobody arrives at the barriers of a block that is gone
            }
        }
    }
}

/// Prepares the barriers, and waits for the kernel before this one.
template <class C>
__device__ __forceinline__ void begin_product(const Arguments& arguments, const Layout<C>& layout,
                                              const CUtensorMap* a_map, const CUtensorMap* b_map,
                                              const CUtensorMap* out_map) {
    if (threadIdx.x == 0) {
        ptx::prefetch_map(a_map);
        ptx::prefetch_map(b_map);
        ptx::prefetch_map(out_map);
        for (std::uint32_t i = 0; i < C::stages; ++i) {
            ptx::barrier_init(layout.full(i), 1);
            ptx::barrier_init(layout.free(i), C::tile_consumers * (C::cluster_rows + C::cluster_columns - 1));
        }
        for (std::uint32_t warp = 0; warp < C::warps; ++warp) {
            ptx::barrier_init(layout.residual(warp), 1);
        }
        for (std::uint32_t consumer = 0; C::ping_pong && consumer < C::consumers; ++consumer) {
            ptx::barrier_init(layout.turn(consumer), 1);
        }
        ptx::fence_barrier_init();
    }
    if constexpr (C::cluster == 1) {
        __syncthreads();
    } else {
        __syncwarp();
        ptx::synchronize_cluster();
    }
    if (arguments.chained) {
        ptx::let_next_kernel_start();
        ptx::wait_for_previous_kernel();
    }
}

template <class Type, class C>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
             const __grid_constant__ CUtensorMap out_map, const __grid_constant__ CUtensorMap residual_map,
             const __grid_constant__ Arguments arguments) {
    extern __shared__ std::uint8_t shared[];
    const Layout<C> layout((ptx::shared_address(shared) + pattern_bytes - 1) / pattern_bytes * pattern_bytes);
    begin_product<C>(arguments, layout, &a_map, &b_map, &out_map);
    const std::uint32_t warpgroup = __shfl_sync(~0U, threadIdx.x / warpgroup_threads, 0);
    if (warpgroup == C::consumers) {
        if constexpr (C::moves_registers) {
            ptx::give_registers<C::producer_registers>();
        }
        if (threadIdx.x == C::consumers * warpgroup_threads) {
            produce<C>(arguments, layout, &a_map, &b_map);
        }
    } else {
        if constexpr (C::moves_registers) {
            ptx::take_registers<C::consumer_registers>();
        }
        consume<Type, C>(arguments, layout, &out_map, &residual_map, warpgroup);
    }
}

}  // namespace sluice::gemm

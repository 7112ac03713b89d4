#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/wgmma.cuh"

/// Loads rows of two matrices for the kernel.
namespace sluice::gemm {

/// This block's place in its cluster. of_a(), of_b(): masks of the ranks that read the same rows of a, or of b.
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

/// Ping-pong: the consumers' turns to multiply. A wait for a barrier
/// tells only even phases from odd ones, so that a consumer may not wait for a stage before earlier ones are read.
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

/// Columns of a tile that takes as many of each of `parts` equal parts of b's rows.
template <class C, std::uint32_t parts>
struct PartColumns {
    static_assert(C::b_slice % parts == 0);
    static constexpr std::uint32_t of_slice = C::b_slice / parts;  // of a part, that a block copies for its cluster

    /// The tile's column that is number `i` of those of a part.
    [[nodiscard]] __device__ static constexpr std::uint32_t in_tile(std::uint32_t part, std::uint32_t i) {
        return i / of_slice * C::b_slice + part * of_slice + i % of_slice;
    }
    /// The product's column, one of `columns`, that is column `c` of the tile before which there are `first`.
    [[nodiscard]] __device__ static std::uint32_t in_product(std::uint32_t columns, std::uint32_t first,
                                                             std::uint32_t c) {
        const std::uint32_t of_block = c % C::b_slice;
        return of_block / of_slice * (columns / parts) + first / parts + c / C::b_slice * of_slice +
               of_block % of_slice;
    }
};

/// A step is step_bytes, or `depth_of_step` values, of depth of all rows of the tile, in one stage of a ring. With
/// several `b_parts` the columns of a tile are PartColumns, and b's map has the axes depth, a part's rows, and parts.
template <class C, std::uint32_t depth_of_step = step_depth, std::uint32_t b_parts = 1>
class StepLoader {
public:
    using Layout = gemm::Layout<C>;
    using Operands = StepOperands;
    static constexpr bool waits = false;

    __device__ __forceinline__ static void prepare(const Operands& operands, const Layout& layout) {
        ptx::prefetch_map(&operands.a);
        ptx::prefetch_map(&operands.b);
        for (std::uint32_t i = 0; i < C::stages; ++i) {
            ptx::barrier_init(layout.full(i), 1);
            ptx::barrier_init(layout.free(i), C::tile_consumers * (C::cluster_rows + C::cluster_columns - 1));
        }
        for (std::uint32_t consumer = 0; C::ping_pong && consumer < C::consumers; ++consumer) {
            ptx::barrier_init(layout.turn(consumer), 1);
        }
    }

    /// A block copies its share of the rows that its cluster shares.
    __device__ __forceinline__ static void produce(const Arguments& arguments, const Operands& operands,
                                                   const Layout& layout) {
        if (threadIdx.x != C::consumers * warpgroup_threads) {
            return;
        }
        const Sharers<C> sharers(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
        ptx::Ring<C::stages> ring;
        for (Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
            const int row = tiles.row() + static_cast<int>(sharers.column * C::a_slice);
            const int column = (tiles.column() + static_cast<int>(sharers.row * C::b_slice)) / int{b_parts};
            for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
                const int depth = static_cast<int>(step * depth_of_step);
                ptx::wait(layout.free(ring.stage), ring.parity ^ 1);
                const std::uint32_t full = layout.full(ring.stage);
                ptx::arrive_expecting(full, C::a_bytes + C::b_bytes);
                const std::uint32_t a = layout.a(ring.stage) + sharers.column * C::a_slice * step_bytes;
                const std::uint32_t b = layout.b(ring.stage) + sharers.row * C::b_slice * step_bytes;
                if constexpr (C::cluster_columns > 1) {
                    ptx::load_2d_to_many(a, &operands.a, full, depth, row, sharers.of_a());
                } else {
                    ptx::load_2d(a, &operands.a, full, depth, row);
                }
                if constexpr (b_parts > 1) {
                    static_assert(C::cluster_rows > 1);
                    ptx::load_3d_to_many(b, &operands.b, full, depth, column, 0, sharers.of_b());
                } else if constexpr (C::cluster_rows > 1) {
                    ptx::load_2d_to_many(b, &operands.b, full, depth, column, sharers.of_b());
                } else {
                    ptx::load_2d(b, &operands.b, full, depth, column);
                }
            }
        }
    }

    __device__ __forceinline__ StepLoader(const Arguments& arguments, const Operands&, const Layout& layout,
                                          std::uint32_t consumer)
        : layout_(layout),
          arguments_(arguments),
          of_tile_(C::ping_pong ? 0 : consumer),
          sharers_(sharers_of()),
          turns_(layout, consumer) {
        if constexpr (C::turns > 1) {
            ring_.skip(turns_.first() * arguments_.steps);
        }
    }

    __device__ __forceinline__ std::uint32_t first_tile() const { return turns_.first(); }
    __device__ __forceinline__ void begin() {
        used_ = C::stages;
        turns_.wait();
    }
    __device__ __forceinline__ Matrices<C> wait() const {
        ptx::wait(layout_.full(ring_.stage), ring_.parity);
        Matrices<C> matrices;
        matrices.b = wgmma::matrix(layout_.b(ring_.stage));
        const std::uint64_t first = wgmma::matrix(layout_.a(ring_.stage) + of_tile_ * C::blocks * block_bytes);
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            matrices.a[block] = first + wgmma::advance(block * block_bytes);
        }
        return matrices;
    }
    __device__ __forceinline__ void next() {
        if (used_ != C::stages) {
            free_stage<C>(layout_.free(used_), sharers_);
        }
        used_ = ring_.stage;
        ring_.next();
    }
    __device__ __forceinline__ void last_begun() const {
        turns_.pass_on();
    }
    __device__ __forceinline__ void end() {
        free_stage<C>(layout_.free(used_), sharers_);
        if constexpr (C::turns > 1) {
            ring_.skip((C::turns - 1) * arguments_.steps);
        }
    }

private:
    __device__ __forceinline__ static std::uint32_t sharers_of() {
        const Sharers<C> ranks(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
        return std::uint32_t{ranks.of_a()} | ranks.of_b();
    }
    static constexpr std::uint32_t block_bytes = product_rows * step_bytes;

    Layout layout_;
    const Arguments& arguments_;
    std::uint32_t of_tile_;  // the consumer's number among those that share a tile
    std::uint32_t sharers_;
    Turns<C> turns_;
    ptx::Ring<C::stages> ring_{};
    std::uint32_t used_ = C::stages;  // the previous step's stage; C::stages: none
};

}  // namespace sluice::gemm

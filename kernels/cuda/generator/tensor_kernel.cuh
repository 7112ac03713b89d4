#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/gemm/kernel.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/step_loader.cuh"
#include "kernels/cuda/generator/tensor_epilogue.cuh"
#include "kernels/cuda/generator/tensor_kernel.hpp"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/wgmma_wide.cuh"

/// A step's products and their epilogue in one kernel: one block per multiprocessor, two of them sharing the weights
/// they read; one warpgroup copies, two multiply 64 rows each. See gemm/ for the ring of stages.
namespace sluice::generator {

template <StepPart part>
using ConfigOf = gemm::Config<2, 1, part == StepPart::scores ? tensor_score_columns : tensor_gate_columns, 5, 1,
                              tensor_cluster_rows, 1>;

/// Tiles of this block's cluster, in groups of a few rows: those computed at a time are about square, so that the L2
/// cache serves most of their reads.
template <class C>
class StepTiles {
public:
    __device__ __forceinline__ explicit StepTiles(const TensorArguments& arguments)
        : rows_((*arguments.rows + cluster_rows - 1) / cluster_rows),
          columns_(arguments.tile_columns),
          number_(blockIdx.x / C::cluster),
          rank_(ptx::rank_in_cluster()) {}

    __device__ __forceinline__ bool any() const { return number_ < rows_ * columns_; }
    __device__ __forceinline__ bool last() const { return number_ + gridDim.x / C::cluster >= rows_ * columns_; }
    __device__ __forceinline__ void next() { number_ += gridDim.x / C::cluster; }
    /// First row of this block's tile, and its column counted in tiles.
    __device__ __forceinline__ std::uint32_t row() const {
        return first_of_group() * cluster_rows + inside() % height() * cluster_rows + rank_ * C::rows;
    }
    __device__ __forceinline__ std::uint32_t column() const { return inside() / height(); }
    __device__ __forceinline__ std::uint32_t rank() const { return rank_; }

private:
    static constexpr std::uint32_t cluster_rows = C::rows * C::cluster_rows;
    static constexpr std::uint32_t group = 8;

    __device__ __forceinline__ std::uint32_t first_of_group() const { return number_ / (group * columns_) * group; }
    __device__ __forceinline__ std::uint32_t inside() const { return number_ % (group * columns_); }
    __device__ __forceinline__ std::uint32_t height() const { return min(group, rows_ - first_of_group()); }

    std::uint32_t rows_;  // in tiles of clusters
    std::uint32_t columns_;
    std::uint32_t number_;
    std::uint32_t rank_;
};

template <class Numbers, class C>
__device__ __forceinline__ void produce_steps(const TensorMaps& maps, const TensorArguments& arguments,
                                              const gemm::Layout<C>& layout) {
    constexpr std::uint16_t both = (1U << C::cluster) - 1;
    constexpr std::uint32_t step_depth = gemm::step_bytes / sizeof(typename Numbers::Stored);
    if (threadIdx.x != C::consumers * gemm::warpgroup_threads) {
        return;
    }
    ptx::Ring<C::stages> ring;
    for (StepTiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const int row = static_cast<int>(tiles.row());
        const int column = static_cast<int>(tiles.column() * C::columns + tiles.rank() * C::b_slice);
        for (std::uint32_t segment = 0; segment < arguments.segments; ++segment) {
            for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
                const int depth = static_cast<int>(step * step_depth);
                ptx::wait(layout.free(ring.stage), ring.parity ^ 1);
                const std::uint32_t full = layout.full(ring.stage);
                ptx::arrive_expecting(full, C::a_bytes + C::b_bytes);
                ptx::load_2d(layout.a(ring.stage), &maps.states[segment], full, depth, row);
                ptx::load_2d_to_many(layout.b(ring.stage) + tiles.rank() * C::b_slice * gemm::step_bytes,
                                     &maps.weights[segment], full, depth, column, both);
            }
        }
    }
}

/// Sums products, and frees stages once their products are done.
template <class Type, class C>
class StepSums {
public:
    __device__ __forceinline__ StepSums(const gemm::Layout<C>& layout, std::uint32_t consumer)
        : layout_(layout), consumer_(consumer) {}

    /// The second consumer starts when the first is some steps ahead, and stays behind: while one computes gates, the
    /// other multiplies.
    __device__ __forceinline__ void wait_for_first() const {
        if (consumer_ == 1) {
            ptx::wait(layout_.residual(0, 0), 0);
        }
    }

    /// Adds the products of all columns.
    template <std::uint32_t count>
    __device__ __forceinline__ void add(float (&sums)[count], std::uint32_t steps) {
        add_each(steps, [&](std::uint64_t a, std::uint64_t b) { wgmma::multiply<Type, 2 * count>(sums, a, b); });
    }

    /// Adds the products of the first 128 columns to `sums`, those of the last 64 to `rest`.
    template <std::uint32_t count>
    __device__ __forceinline__ void add_apart(float (&sums)[count], float (&rest)[32], std::uint32_t steps) {
        constexpr std::uint32_t first_columns = 128;
        auto& first = reinterpret_cast<float(&)[first_columns / 2]>(sums[0]);
        add_each(steps, [&](std::uint64_t a, std::uint64_t b) {
            wgmma::multiply<Type, first_columns>(first, a, b);
            wgmma::multiply<Type, 64>(rest, a, b + wgmma::advance(first_columns * gemm::step_bytes));
        });
        wgmma::wait<0>();  // products of another width follow
    }

    __device__ __forceinline__ void finish() {
        wgmma::wait<0>();
        free(used_);
        used_ = C::stages;
        if (ahead_ < steps_ahead) {  // the tile has fewer
            ahead_ = steps_ahead;
            let_second_begin();
        }
    }

private:
    static constexpr std::uint32_t steps_ahead = 3;
    static_assert(steps_ahead < C::stages);  // otherwise the ring fills with stages that the second has not read

    template <class Multiply>
    __device__ __forceinline__ void add_each(std::uint32_t steps, const Multiply& multiply) {
        for (std::uint32_t step = 0; step < steps; ++step, ring_.next()) {
            ptx::wait(layout_.full(ring_.stage), ring_.parity);
            const std::uint64_t b = wgmma::matrix(layout_.b(ring_.stage));
            const std::uint64_t a =
                wgmma::matrix(layout_.a(ring_.stage) + consumer_ * gemm::product_rows * gemm::step_bytes);
            wgmma::fence();
#pragma unroll
            for (std::uint32_t k = 0; k < gemm::step_bytes; k += 32) {
                multiply(a + wgmma::advance(k), b + wgmma::advance(k));
            }
            wgmma::commit();
            wgmma::wait<1>();  // the previous step is done
            if (used_ != C::stages) {
                free(used_);
            }
            used_ = ring_.stage;
            if (ahead_ < steps_ahead && ++ahead_ == steps_ahead) {
                let_second_begin();
            }
        }
    }

    __device__ __forceinline__ void free(std::uint32_t stage) const {
        gemm::free_stage<C>(layout_.free(stage), (1U << C::cluster) - 1);
    }
    __device__ __forceinline__ void let_second_begin() const {
        if (consumer_ == 0 && threadIdx.x % gemm::warpgroup_threads == 0) {
            ptx::arrive(layout_.residual(0, 0));
        }
    }

    gemm::Layout<C> layout_;
    std::uint32_t consumer_;
    ptx::Ring<C::stages> ring_{};
    std::uint32_t used_ = C::stages;  // none
    std::uint32_t ahead_ = 0;
};

/// Runs the last products of a tile and stores its results, prefetching their inputs shortly before.
template <class Products, class Results, std::uint32_t count, class... Others>
__device__ __forceinline__ void sum_up(Products& products, std::uint32_t steps, Results& results, float (&sums)[count],
                                       const Others&... others) {
    const std::uint32_t late_steps = min(steps, 2U);
    products.add(sums, steps - late_steps);
    results.prefetch();
    products.add(sums, late_steps);
    products.finish();
    results.store(sums, others...);
}

template <class Numbers, StepPart part, class C>
__device__ __forceinline__ void consume_steps(const TensorArguments& arguments, const gemm::Layout<C>& layout,
                                              std::uint32_t consumer) {
    using Type = typename Numbers::Type;
    constexpr std::uint32_t product_sums = C::columns / 2;
    StepSums<Type, C> products(layout, consumer);
    const std::uint32_t memory = layout.box(consumer * gemm::warps_per_warpgroup + threadIdx.x / 32 % 4, 0);
    bool begun = false;
    for (StepTiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        if (!begun) {
            products.wait_for_first();
            begun = true;
        }
        float sums[product_sums] = {};
        float input_n[part == StepPart::further ? tensor_units / 2 : 1] = {};  // n of the input is separate
        if constexpr (part == StepPart::further) {
            products.add_apart(sums, input_n, arguments.input_segments * arguments.steps);
        }
        const std::uint32_t row = tiles.row() + consumer * gemm::product_rows;
        const std::uint32_t steps = (arguments.segments - arguments.input_segments) * arguments.steps;
        if constexpr (part == StepPart::scores) {
            TileScores<Numbers, C::columns> scores(arguments, row, tiles.column() * C::columns);
            sum_up(products, steps, scores, sums);
        } else {
            UnitGates<Numbers, part> gates(arguments, row, tiles.column() * tensor_units, memory);
            sum_up(products, steps, gates, sums, input_n);
        }
        if (tiles.last()) {  // not after the loop: the compiler would give this role no more registers than the others
            ptx::synchronize_cluster_apart();  // no block arrives at the barriers of one that has exited
        }
    }
}

template <class Numbers, StepPart part, class C = ConfigOf<part>>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    take_step(const __grid_constant__ TensorMaps maps, const __grid_constant__ TensorArguments arguments) {
    extern __shared__ __align__(gemm::pattern_bytes) std::uint8_t step_memory[];
    const gemm::Layout<C> layout(ptx::shared_address(step_memory));
    if (threadIdx.x == C::consumers * gemm::warpgroup_threads) {
        for (std::uint32_t segment = 0; segment < arguments.segments; ++segment) {
            ptx::prefetch_map(&maps.states[segment]);
            ptx::prefetch_map(&maps.weights[segment]);
        }
    }
    gemm::begin_block<C>(true, [&] {
        for (std::uint32_t i = 0; i < C::stages; ++i) {
            ptx::barrier_init(layout.full(i), 1);
            ptx::barrier_init(layout.free(i), C::consumers * C::cluster);
        }
        ptx::barrier_init(layout.residual(0, 0), 1);
    });
    gemm::take_roles<C>([&] { produce_steps<Numbers, C>(maps, arguments, layout); },
                        [&](std::uint32_t consumer) { consume_steps<Numbers, part, C>(arguments, layout, consumer); });
}

template <class Numbers>
TensorKernels make_step_kernels() {
    using Gates = ConfigOf<StepPart::first>;
    using Scores = ConfigOf<StepPart::scores>;
    static_assert(Gates::threads == Scores::threads && Gates::rows == tensor_tile_rows);
    return {.first = &take_step<Numbers, StepPart::first>,
            .further = &take_step<Numbers, StepPart::further>,
            .scores = &take_step<Numbers, StepPart::scores>,
            .threads = Gates::threads,
            .gates_shared_bytes = Gates::shared_bytes,
            .scores_shared_bytes = Scores::shared_bytes};
}

}  // namespace sluice::generator

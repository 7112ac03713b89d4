#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/decoder/float_epilogue.cuh"
#include "kernels/cuda/decoder/float_kernel.cuh"
#include "kernels/cuda/half_values.hpp"

/// The product's kernel for operands in two parts of fp16. Of a chunk of depth it multiplies first what is small, rests
/// by first parts, then first parts by first parts; the chunk's sums go to those of the tile, in another set of
/// registers: the tensor cores cut their sums off at 24 bits, which would show after some thousand products.
namespace sluice::decoder {

constexpr std::uint32_t part_chunk_steps = 4;  // 256 of depth: of 512, sums would err twice as much as in fp32

/// Copies the rows of all tiles, in the order in which they are multiplied.
template <class C>
__device__ __forceinline__ void produce_parts(const gemm::Arguments& arguments, const gemm::Layout<C>& layout,
                                              const CUtensorMap* a_map, const CUtensorMap* b_map) {
    static_assert(C::cluster_columns == 1 && C::cluster_rows > 1, "blocks share rows of b");
    const gemm::Sharers<C> sharers(ptx::rank_in_cluster());
    ptx::Ring<C::stages> ring;
    const auto copy = [&](std::uint32_t step, int part_of_a, int part_of_b, int row, int column) {
        const int depth = static_cast<int>(step * float_step_depth<__half>);
        ptx::wait(layout.free(ring.stage), ring.parity ^ 1);
        const std::uint32_t full = layout.full(ring.stage);
        ptx::arrive_expecting(full, C::a_bytes + C::b_bytes);
        ptx::load_3d(layout.a(ring.stage), a_map, full, depth, part_of_a, row);
        ptx::load_3d_to_many(layout.b(ring.stage) + sharers.row * C::b_slice * gemm::step_bytes, b_map, full, depth,
                             part_of_b, column, sharers.of_b());
        ring.next();
    };
    for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const int row = tiles.row();
        const int column = tiles.column() + static_cast<int>(sharers.row * C::b_slice);
        for (std::uint32_t first = 0; first < arguments.steps; first += part_chunk_steps) {
            const std::uint32_t end = min(first + part_chunk_steps, arguments.steps);
            for (int product = 0; product < 3; ++product) {
                for (std::uint32_t step = first; step < end; ++step) {
                    copy(step, product == 0 ? 1 : 0, product == 1 ? 1 : 0, row, column);
                }
            }
        }
    }
}

/// Adds up products of stages.
template <class C>
class PartSums {
public:
    __device__ __forceinline__ PartSums(const gemm::Layout<C>& layout, std::uint32_t consumer)
        : layout_(layout), consumer_(consumer), sharers_([] {
              const gemm::Sharers<C> ranks(ptx::rank_in_cluster());
              return std::uint32_t{ranks.of_a()} | ranks.of_b();
          }()) {}

    /// Those of the next `steps` stages, which are done then.
    __device__ __forceinline__ void add(float (&sums)[C::columns / 2], std::uint32_t steps) {
        std::uint32_t used = C::stages;  // none yet
        for (std::uint32_t step = 0; step < steps; ++step, ring_.next()) {
            ptx::wait(layout_.full(ring_.stage), ring_.parity);
            const std::uint64_t b = wgmma::matrix(layout_.b(ring_.stage));
            const std::uint64_t a =
                wgmma::matrix(layout_.a(ring_.stage) + consumer_ * gemm::product_rows * gemm::step_bytes);
            wgmma::fence();
            multiply_step<__half, C>(sums, a, b);
            wgmma::commit();
            wgmma::wait<1>();  // the step before is done
            if (used != C::stages) {
                gemm::free_stage<C>(layout_.free(used), sharers_);
            }
            used = ring_.stage;
        }
        wgmma::wait<0>();
        gemm::free_stage<C>(layout_.free(used), sharers_);
    }

private:
    const gemm::Layout<C>& layout_;
    std::uint32_t consumer_;
    std::uint32_t sharers_;
    ptx::Ring<C::stages> ring_{};
};

template <class C, bool bests>
__device__ __forceinline__ void consume_parts(const gemm::Arguments& arguments, const FloatProductArguments& floats,
                                              const gemm::Layout<C>& layout, std::uint32_t consumer) {
    static_assert(C::blocks == 1 && !C::ping_pong);
    using Epilogue = BatchedEpilogue<C, true>;
    const Epilogue epilogue(arguments, floats, consumer);
    PartSums<C> products(layout, consumer);
    for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const auto row = static_cast<std::uint32_t>(tiles.row());
        const auto column = static_cast<std::uint32_t>(tiles.column());
        typename Epilogue::Sums all;
        epilogue.begin(all, row, column);
        for (std::uint32_t first = 0; first < arguments.steps; first += part_chunk_steps) {
            const std::uint32_t steps = min(part_chunk_steps, arguments.steps - first);
            float sums[C::columns / 2] = {};
            products.add(sums, 2 * steps);
#pragma unroll
            for (float& sum : sums) {
                sum *= 1 / half_rest_scale;
            }
            products.add(sums, steps);
#pragma unroll
            for (std::uint32_t i = 0; i < C::columns / 2; ++i) {
                all[0][i] += sums[i];
            }
        }
        if constexpr (bests) {
            BestsEpilogue<C>(arguments, floats, consumer).store(all[0], row, column);
        } else {
            epilogue.store(all, row, column);
        }
        if (tiles.last()) {
            ptx::synchronize_cluster_apart();  // nobody arrives at the barriers of a block that is gone
        }
    }
}

template <class C, bool bests>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_half_parts(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                        const __grid_constant__ gemm::Arguments arguments,
                        const __grid_constant__ FloatProductArguments floats) {
    const std::uint32_t base = ptx::shared_address(float_memory);
    const gemm::Layout<C> layout((base + gemm::pattern_bytes - 1) / gemm::pattern_bytes * gemm::pattern_bytes);
    begin_float_product(layout, &a_map, &b_map);
    const std::uint32_t warpgroup = __shfl_sync(every_lane, threadIdx.x / gemm::warpgroup_threads, 0);
    if (warpgroup == C::consumers) {
        ptx::give_registers<C::producer_registers>();
        if (threadIdx.x == C::consumers * gemm::warpgroup_threads) {
            produce_parts<C>(arguments, layout, &a_map, &b_map);
        }
    } else {
        ptx::take_registers<C::consumer_registers>();
        consume_parts<C, bests>(arguments, floats, layout, warpgroup);
    }
}

/// 128 by 192 in clusters of two rows of tiles: a thread has two sets of 96 sums.
template <bool bests>
FloatProductKernel make_half_part_product() {
    using C = gemm::Config<2, 1, 192, 5, 1, 2, 1>;
    return make_float_kernel<__half, C>(&multiply_half_parts<C, bests>);
}

}  // namespace sluice::decoder

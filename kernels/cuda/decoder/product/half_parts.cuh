#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/decoder/product/epilogue.cuh"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/parts.cuh"
#include "kernels/cuda/decoder/product/rows.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/primitives/half_values.hpp"

/// The product's kernel for operands in two parts of fp16. Per chunk of depth it multiplies the small products first,
/// remainders by first parts, then first parts by first parts; the chunk's sums are added to the tile's, in another set
/// of registers: the tensor cores truncate their sums to 24 bits, which would show after some thousand products.
namespace sluice::decoder {

constexpr std::uint32_t part_chunk_steps = 4;  // 256 of depth; with 512, sums would err twice as much as in fp32

/// Copies the rows of all tiles, in the order in which they are multiplied.
template <class C>
__device__ __forceinline__ void produce_parts(const gemm::Arguments& arguments, const gemm::StepOperands& operands,
                                              const gemm::Layout<C>& layout) {
    static_assert(C::cluster_columns == 1, "blocks share rows of b only");
    if (threadIdx.x != C::consumers * gemm::warpgroup_threads) {
        return;
    }
    const gemm::Sharers<C> sharers(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    ptx::Ring<C::stages> ring;
    const auto copy = [&](std::uint32_t step, int part_of_a, int part_of_b, int row, int column) {
        const int depth = static_cast<int>(step * gemm::step_depth);
        ptx::wait(layout.free(ring.stage), ring.parity ^ 1);
        const std::uint32_t full = layout.full(ring.stage);
        ptx::arrive_expecting(full, C::a_bytes + C::b_bytes);
        ptx::load_3d(layout.a(ring.stage), &operands.a, full, depth, part_of_a, row);
        load_shared_rows<C>(layout, ring.stage, &operands.b, depth, part_of_b, column, sharers);
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

template <class C, class Epilogue>
__device__ __forceinline__ void consume_parts(const gemm::Arguments& arguments, gemm::StepLoader<C>& loader,
                                              Epilogue& epilogue) {
    static_assert(C::blocks == 1 && !C::ping_pong);
    const auto add = [&](gemm::Sums<C>& sums, std::uint32_t steps) {
        loader.begin();
        gemm::multiply_steps<__half, C>(sums, loader, steps);
        wgmma::wait<0>();
        loader.end();
    };
    for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        gemm::Sums<C> all;
        epilogue.begin(all, static_cast<std::uint32_t>(tiles.row()), static_cast<std::uint32_t>(tiles.column()));
        for (std::uint32_t first = 0; first < arguments.steps; first += part_chunk_steps) {
            const std::uint32_t steps = min(part_chunk_steps, arguments.steps - first);
            gemm::Sums<C> sums = {};
            add(sums, 2 * steps);
#pragma unroll
            for (float& sum : sums[0]) {
                sum *= 1 / half_rest_scale;
            }
            add(sums, steps);
#pragma unroll
            for (std::uint32_t i = 0; i < C::columns / 2; ++i) {
                all[0][i] += sums[0][i];
            }
        }
        epilogue.store(all);
        if constexpr (C::cluster > 1) {
            if (tiles.last()) {
                ptx::synchronize_cluster_apart();  // no block arrives at the barriers of one that has exited
            }
        }
    }
}

template <class C, class Epilogue>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_half_parts(const __grid_constant__ gemm::Arguments arguments,
                        const __grid_constant__ gemm::StepOperands operands,
                        const __grid_constant__ FloatProductArguments floats) {
    extern __shared__ __align__(gemm::pattern_bytes) std::uint8_t shared[];
    const gemm::Layout<C> layout(ptx::shared_address(shared));
    gemm::begin_block<C>(arguments.chained, [&] { gemm::StepLoader<C>::prepare(operands, layout); });
    gemm::take_roles<C>([&] { produce_parts<C>(arguments, operands, layout); },
                        [&](std::uint32_t consumer) {
                            gemm::StepLoader<C> loader(arguments, operands, layout, consumer);
                            Epilogue epilogue(arguments, floats, layout, consumer);
                            consume_parts<C>(arguments, loader, epilogue);
                        });
}

/// 128 by 192 in clusters of two rows of tiles: a thread has two sets of 96 sums.
inline FloatProductKernels make_half_part_products() {
    using C = gemm::Config<2, 1, 192, 5, 1, 2, 1>;
    const auto values = gemm::make_product_kernel<C>(&multiply_half_parts<C, BatchedEpilogue<C, true>>);
    using OfFew = TileOfFewRows;
    const auto of_few = gemm::make_product_kernel<OfFew>(&multiply_half_parts<OfFew, BatchedEpilogue<OfFew, true>>);
    return {.values = values,
            .parts = values,
            .scores = gemm::make_product_kernel<C>(&multiply_half_parts<C, ScoresEpilogue<C>>),
            .bests = gemm::make_product_kernel<C>(&multiply_half_parts<C, BestsEpilogue<C>>),
            .score_sums = gemm::make_product_kernel<C>(&multiply_half_parts<C, ScoreSumsEpilogue<C>>),
            .few_values = of_few,
            .few_parts = of_few};
}

}  // namespace sluice::decoder

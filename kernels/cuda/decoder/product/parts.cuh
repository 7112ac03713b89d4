#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/gemm/kernel.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/step_loader.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

/// The kernel of products of operands in two parts. What of these is multiplied, and in which order, is a `Method`'s;
/// its static members are
///   each_step()   calls copy(step, part of a, part of b, row, column) for the operands of a tile's products, in order
///   consume()     multiplies and stores the consumer's tiles
namespace sluice::decoder {

/// A tile for few rows: 64 by 64.
using TileOfFewRows = gemm::Config<1, 1, 64, 6, 1>;

/// Copies the rows of all tiles, of those of b a share where a cluster shares them.
template <class C, class Method>
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
        const std::uint32_t to = layout.b(ring.stage) + sharers.row * C::b_slice * gemm::step_bytes;
        if constexpr (C::cluster_rows > 1) {
            ptx::load_3d_to_many(to, &operands.b, full, depth, part_of_b, column, sharers.of_b());
        } else {
            ptx::load_3d(to, &operands.b, full, depth, part_of_b, column);
        }
        ring.next();
    };
    for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const int row = tiles.row();
        const int column = tiles.column() + static_cast<int>(sharers.row * C::b_slice);
        Method::each_step(arguments.steps, copy, row, column);
    }
}

template <class C, class Method, class Epilogue>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_parts(const __grid_constant__ gemm::Arguments arguments,
                   const __grid_constant__ gemm::StepOperands operands,
                   const __grid_constant__ FloatProductArguments floats) {
    extern __shared__ __align__(gemm::pattern_bytes) std::uint8_t shared[];
    const gemm::Layout<C> layout(ptx::shared_address(shared));
    gemm::begin_block<C>(arguments.chained, [&] { gemm::StepLoader<C>::prepare(operands, layout); });
    gemm::take_roles<C>([&] { produce_parts<C, Method>(arguments, operands, layout); },
                        [&](std::uint32_t consumer) {
                            gemm::StepLoader<C> loader(arguments, operands, layout, consumer);
                            Epilogue epilogue(arguments, floats, layout, consumer);
                            Method::template consume<C>(arguments, loader, epilogue);
                        });
}

template <class C, class Method, class Epilogue>
[[nodiscard]] FloatProductKernel make_part_product() {
    return gemm::make_product_kernel<C>(&multiply_parts<C, Method, Epilogue>);
}

}  // namespace sluice::decoder

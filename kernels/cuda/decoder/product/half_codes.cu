#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/decoder/product/code_epilogue.cuh"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/parts.cuh"
#include "kernels/cuda/decoder/product/rows.cuh"
#include "kernels/cuda/gemm/fp8_wgmma.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/primitives/half_values.hpp"

/// The product's kernel for operands in fp16 and codes of e4m3, in ping-pong. Half of a tile's steps are of codes:
/// their sums, of which the tensor cores keep 14 bits, are the correction. The products of fp16 are added to it.
namespace sluice::decoder {
namespace {

/// Copies the rows of all tiles, in the order in which they are multiplied.
template <class C>
__device__ __forceinline__ void produce_codes(const gemm::Arguments& arguments, const gemm::StepOperands& operands,
                                              const gemm::Layout<C>& layout) {
    static_assert(C::cluster_columns == 1, "blocks share rows of b only");
    if (threadIdx.x != C::consumers * gemm::warpgroup_threads) {
        return;
    }
    const gemm::Sharers<C> sharers(C::cluster == 1 ? 0 : ptx::rank_in_cluster());
    const std::uint32_t of_codes = arguments.steps / 2;
    ptx::Ring<C::stages> ring;
    for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
        const int row = tiles.row();
        const int column = tiles.column() + static_cast<int>(sharers.row * C::b_slice);
        for (std::uint32_t step = 0; step < arguments.steps; ++step, ring.next()) {
            const int part = step < of_codes ? 1 : 0;
            const int depth = static_cast<int>(step % of_codes * gemm::step_depth);
            ptx::wait(layout.free(ring.stage), ring.parity ^ 1);
            const std::uint32_t full = layout.full(ring.stage);
            ptx::arrive_expecting(full, C::a_bytes + C::b_bytes);
            ptx::load_3d(layout.a(ring.stage), &operands.a, full, depth, part, row);
            load_shared_rows<C>(layout, ring.stage, &operands.b, depth, part, column, sharers);
        }
    }
}

template <class C, class Epilogue>
__device__ __forceinline__ void consume_codes(const gemm::Arguments& arguments, gemm::StepLoader<C>& loader,
                                              Epilogue& epilogue) {
    const std::uint32_t of_codes = arguments.steps / 2;
    for (gemm::Tiles<C, C::turns> tiles(arguments, loader.first_tile()); tiles.any(); tiles.next()) {
        gemm::Sums<C> sums;
        epilogue.begin(sums, static_cast<std::uint32_t>(tiles.row()), static_cast<std::uint32_t>(tiles.column()));
        loader.begin();
        gemm::multiply_steps<wgmma::E4m3, C>(sums, loader, of_codes);
        wgmma::wait<0>();
#pragma unroll
        for (auto& block : sums) {
#pragma unroll
            for (float& sum : block) {
                sum *= 1 / (half_rest_scale * half_code_scale);
            }
        }
        gemm::multiply_steps<__half, C>(sums, loader, of_codes);
        loader.last_begun();
        wgmma::wait<0>();
        loader.end();
        epilogue.store(sums);
        if (tiles.last()) {  // not after the loop: see gemm::consume()
            epilogue.finish();
            if constexpr (C::cluster > 1) {
                ptx::synchronize_cluster_apart();  // no block arrives at the barriers of one that has exited
            }
        }
    }
}

template <class C, class Epilogue>
__global__ void __launch_bounds__(C::threads, 1) __cluster_dims__(C::cluster, 1, 1)
    multiply_half_codes(const __grid_constant__ gemm::Arguments arguments,
                        const __grid_constant__ gemm::StepOperands operands,
                        const __grid_constant__ FloatProductArguments floats) {
    extern __shared__ __align__(gemm::pattern_bytes) std::uint8_t shared[];
    const gemm::Layout<C> layout(ptx::shared_address(shared));
    gemm::begin_block<C>(arguments.chained, [&] { gemm::StepLoader<C>::prepare(operands, layout); });
    gemm::take_roles<C>([&] { produce_codes<C>(arguments, operands, layout); },
                        [&](std::uint32_t consumer) {
                            gemm::StepLoader<C> loader(arguments, operands, layout, consumer);
                            Epilogue epilogue(arguments, floats, layout, consumer);
                            consume_codes<C>(arguments, loader, epilogue);
                        });
}

template <class C, class OfFew>
FloatProductKernels make_half_code_products() {
    return {.values = gemm::make_product_kernel<C>(&multiply_half_codes<C, CodeEpilogue<C, false>>),
            .parts = gemm::make_product_kernel<C>(&multiply_half_codes<C, CodeEpilogue<C, true>>),
            .scores = gemm::make_product_kernel<C>(&multiply_half_codes<C, ScoresEpilogue<C>>),
            .bests = gemm::make_product_kernel<C>(&multiply_half_codes<C, BestsEpilogue<C>>),
            .score_sums = gemm::make_product_kernel<C>(&multiply_half_codes<C, ScoreSumsEpilogue<C>>),
            .few_values = gemm::make_product_kernel<OfFew>(&multiply_half_codes<OfFew, CodeEpilogue<OfFew, false>>),
            .few_parts = gemm::make_product_kernel<OfFew>(&multiply_half_codes<OfFew, CodeEpilogue<OfFew, true>>)};
}

}  // namespace

const FloatProductKernels& half_code_float_product() {
    static const FloatProductKernels kernels =
        make_half_code_products<gemm::Config<2, 2, 192, 5, 1, 2, 1, true>, TileOfFewRows>();
    return kernels;
}

}  // namespace sluice::decoder

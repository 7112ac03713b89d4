#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/decoder/product/code_epilogue.cuh"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/parts.cuh"
#include "kernels/cuda/decoder/product/rows.cuh"
#include "kernels/cuda/gemm/fp8_wgmma.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/primitives/half_values.hpp"

/// Products of operands in fp16 and codes of e4m3, in ping-pong. Half of a tile's steps are of codes: their sums, of
/// which the tensor cores keep 14 bits, are the correction. The products of fp16 are added to it.
namespace sluice::decoder {
namespace {

struct HalfCodeProducts {
    template <class Copy>
    __device__ __forceinline__ static void each_step(std::uint32_t steps, const Copy& copy, int row, int column) {
        const std::uint32_t of_codes = steps / 2;
        for (std::uint32_t step = 0; step < steps; ++step) {
            const int part = step < of_codes ? 1 : 0;
            copy(step % of_codes, part, part, row, column);
        }
    }

    template <class C, class Epilogue>
    __device__ __forceinline__ static void consume(const gemm::Arguments& arguments, gemm::StepLoader<C>& loader,
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
};

template <class C, class OfFew>
FloatProductKernels make_half_code_products() {
    return {.values = make_part_product<C, HalfCodeProducts, CodeEpilogue<C, false>>(),
            .parts = make_part_product<C, HalfCodeProducts, CodeEpilogue<C, true>>(),
            .scores = make_part_product<C, HalfCodeProducts, ScoresEpilogue<C>>(),
            .bests = make_part_product<C, HalfCodeProducts, BestsEpilogue<C>>(),
            .bests_and_sums = make_part_product<C, HalfCodeProducts, BestsAndSumsEpilogue<C>>(),
            .score_sums = make_part_product<C, HalfCodeProducts, ScoreSumsEpilogue<C>>(),
            .both_sums = make_part_product<C, HalfCodeProducts, BothSumsEpilogue<C>>(),
            .few_values = make_part_product<OfFew, HalfCodeProducts, CodeEpilogue<OfFew, false>>(),
            .few_parts = make_part_product<OfFew, HalfCodeProducts, CodeEpilogue<OfFew, true>>()};
}

}  // namespace

const FloatProductKernels& half_code_float_product() {
    static const FloatProductKernels kernels =
        make_half_code_products<gemm::Config<2, 2, 192, 5, 1, 2, 1, true>, TileOfFewRows>();
    return kernels;
}

}  // namespace sluice::decoder

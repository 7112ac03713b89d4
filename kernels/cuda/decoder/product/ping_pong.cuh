#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/decoder/product/epilogue.cuh"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/parts.cuh"
#include "kernels/cuda/decoder/product/rows.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"

namespace sluice::decoder {

/// Gemm's kernel in ping-pong with other epilogues. Tiles of 128 by 192: 8,448 rows by 768 columns give each consumer
/// of an H200 one.
template <class Type>
FloatProductKernels make_float_products() {
    using C = gemm::Config<2, 2, 192, 5, 1, 2, 1, true>;
    constexpr std::uint32_t step_depth = gemm::step_bytes / (std::is_same_v<Type, wgmma::Tf32> ? 4 : 2);
    using Loader = gemm::StepLoader<C, step_depth>;
    FloatProductKernel few_values{};
    if constexpr (std::is_same_v<Type, wgmma::Tf32>) {  // other values are Gemm's
        using OfFew = TileOfFewRows;
        using LoaderOfFew = gemm::StepLoader<OfFew, step_depth>;
        few_values =
            gemm::make_product_kernel<OfFew>(&gemm::multiply<Type, OfFew, LoaderOfFew, BatchedEpilogue<OfFew>>);
    }
    return {.values = gemm::make_product_kernel<C>(&gemm::multiply<Type, C, Loader, BatchedEpilogue<C>>),
            .parts = {},
            .scores = gemm::make_product_kernel<C>(&gemm::multiply<Type, C, Loader, ScoresEpilogue<C>>),
            .bests = gemm::make_product_kernel<C>(&gemm::multiply<Type, C, Loader, BestsEpilogue<C>>),
            .bests_and_sums = gemm::make_product_kernel<C>(&gemm::multiply<Type, C, Loader, BestsAndSumsEpilogue<C>>),
            .score_sums = gemm::make_product_kernel<C>(&gemm::multiply<Type, C, Loader, ScoreSumsEpilogue<C>>),
            .both_sums = gemm::make_product_kernel<C>(&gemm::multiply<Type, C, Loader, BothSumsEpilogue<C>>),
            .few_values = few_values};
}

}  // namespace sluice::decoder

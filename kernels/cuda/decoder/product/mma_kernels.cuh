#pragma once

#include "kernels/cuda/decoder/product/mma_store.cuh"
#include "kernels/cuda/gemm/mma_product.cuh"
#include "kernels/cuda/gemm/mma_tiles.cuh"

namespace sluice::decoder {

/// A precision's kernels, by what they store.
struct FloatMmaKernels {
    gemm::MmaKernel<FloatProductArguments> values;
    gemm::MmaKernel<FloatProductArguments> scores;
    gemm::MmaKernel<FloatProductArguments> bests;
    gemm::MmaKernel<FloatProductArguments> bests_and_sums;
    gemm::MmaKernel<FloatProductArguments> score_sums;
    gemm::MmaKernel<FloatProductArguments> both_sums;
};

template <Precision precision>
FloatMmaKernels make_float_mma_kernels() {
    using Values = gemm::Mma128x128;
    using Bests = gemm::MmaConfig<2, 4, 4, 8, 3, 1>;  // a stage less than Gemm's, for the warps' exchange
    return {.values = gemm::make_mma_kernel<precision, Values, MmaFloatStore<Values>>(),
            .scores = gemm::make_mma_kernel<precision, Values, MmaRowsStore<Values, StoredScores>>(),
            .bests = gemm::make_mma_kernel<precision, Bests, MmaBestStore<Bests>>(),
            .bests_and_sums = gemm::make_mma_kernel<precision, Bests, MmaBestsAndSumsStore<Bests>>(),
            .score_sums = gemm::make_mma_kernel<precision, Values, MmaRowsStore<Values, StoredScoreSums>>(),
            .both_sums = gemm::make_mma_kernel<precision, Values, MmaRowsStore<Values, StoredBothSums>>()};
}

// One source file each: they take long to compile.
[[nodiscard]] const FloatMmaKernels& bf16_float_mma();
[[nodiscard]] const FloatMmaKernels& fp16_float_mma();
[[nodiscard]] const FloatMmaKernels& tf32_float_mma();

}  // namespace sluice::decoder

#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"

namespace sluice::decoder {

struct FloatProductArguments {
    const float* residual;
    float* out;
    std::uint32_t stride;
    TileBest* bests;
    ScoreSum* score_sums;
    std::uint32_t results;  // of a row: bests, or else score_sums
    float per_temperature;  // log2(e) / temperature; 0: sums are of no use
    bool rounds_to_tf32;
    bool in_parts;
    float* plain_sums;
};

using FloatProductKernel = gemm::ProductKernel<gemm::StepOperands, FloatProductArguments>;

/// A precision's kernels, by what they store.
struct FloatProductKernels {
    FloatProductKernel values;
    FloatProductKernel parts;  // of tf32x3 and fp16x2
    FloatProductKernel scores;
    FloatProductKernel bests;
    FloatProductKernel bests_and_sums;
    FloatProductKernel score_sums;
    FloatProductKernel both_sums;
    // Of small tiles, for few rows: as values and parts. Without a function there is none.
    FloatProductKernel few_values{};
    FloatProductKernel few_parts{};
};

// One source file each: they take long to compile.
[[nodiscard]] const FloatProductKernels& bf16_float_product();
[[nodiscard]] const FloatProductKernels& fp16_float_product();
[[nodiscard]] const FloatProductKernels& tf32_float_product();
[[nodiscard]] const FloatProductKernels& half_part_float_product();
[[nodiscard]] const FloatProductKernels& half_code_float_product();

}  // namespace sluice::decoder

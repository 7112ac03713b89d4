#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/choose.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"

namespace sluice::decoder {

struct FloatProductArguments {
    const float* residual;
    float* out;
    std::uint32_t stride;
    TileBest* bests;
    std::uint32_t best_tiles;  // per row
    bool rounds_to_tf32;
    bool in_half_parts;
};

using FloatProductKernel = gemm::ProductKernel<gemm::StepOperands, FloatProductArguments>;

/// A precision's kernels: for all sums, and for the largest of each tile.
struct FloatProductKernels {
    FloatProductKernel values;
    FloatProductKernel bests;
};

// One source file each: they take long to compile.
[[nodiscard]] const FloatProductKernels& bf16_float_product();
[[nodiscard]] const FloatProductKernels& fp16_float_product();
[[nodiscard]] const FloatProductKernels& tf32_float_product();
[[nodiscard]] const FloatProductKernels& half_part_float_product();

}  // namespace sluice::decoder

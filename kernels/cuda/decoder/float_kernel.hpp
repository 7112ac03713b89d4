#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/cuda/gemm/gemm.hpp"

namespace sluice::decoder {

struct FloatProductArguments {
    const float* residual;
    float* out;
    std::uint32_t stride;
    TileBest* bests;
    std::uint32_t best_tiles;  // of a row
    bool rounds_to_tf32;
};

/// The code for one precision, and what its launch takes.
struct FloatProductKernel {
    using Function = void (*)(CUtensorMap, CUtensorMap, gemm::Arguments, FloatProductArguments);

    Function values;
    Function bests;
    GemmTile tile;
    std::uint32_t step_depth;
    std::uint32_t threads;
    std::uint32_t shared_bytes;
};

// A source each: they take long to compile.
[[nodiscard]] const FloatProductKernel& bf16_float_product();
[[nodiscard]] const FloatProductKernel& fp16_float_product();
[[nodiscard]] const FloatProductKernel& tf32_float_product();

}  // namespace sluice::decoder

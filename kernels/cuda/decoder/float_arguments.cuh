#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/float_kernel.hpp"
#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/cuda/gemm/layout.cuh"

namespace sluice::decoder {

/// Arguments of FloatProduct's kernels, without tiles.
[[nodiscard]] inline gemm::Arguments arguments_of(const FloatProductShape& shape, const FloatProductMemory& memory,
                                                  std::uint32_t steps) {
    return {.bias = memory.bias,
            .active = memory.active,
            .columns = shape.columns,
            .steps = steps,
            .activation = shape.activation,
            .residual = memory.residual != nullptr,
            .chained = true,
            .rows = shape.rows};
}

[[nodiscard]] inline FloatProductArguments target_of(const FloatProductShape& shape, const FloatProductMemory& memory,
                                                     std::uint32_t tile_columns) {
    return {.residual = memory.residual,
            .out = memory.out,
            .stride = memory.stride,
            .bests = memory.bests,
            .best_tiles = (shape.columns + tile_columns - 1) / tile_columns,
            .rounds_to_tf32 = shape.rounds_to_tf32,
            .in_half_parts = shape.in_half_parts};
}

}  // namespace sluice::decoder

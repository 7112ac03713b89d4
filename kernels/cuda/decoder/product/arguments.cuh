#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

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

/// The one of FloatProductKernels or FloatMmaKernels that stores what `memory` is for.
template <class Kernels>
[[nodiscard]] const auto& kernel_for(const Kernels& kernels, const FloatProductMemory& memory) {
    if (memory.bests != nullptr) {
        return memory.score_sums != nullptr ? kernels.bests_and_sums : kernels.bests;
    }
    if (memory.plain_sums != nullptr) {
        return kernels.both_sums;
    }
    if (memory.score_sums != nullptr) {
        return memory.out != nullptr ? kernels.scores : kernels.score_sums;
    }
    return kernels.values;
}

[[nodiscard]] inline FloatProductArguments target_of(const FloatProductShape& shape, const FloatProductMemory& memory,
                                                     std::uint32_t tile_columns) {
    return {.residual = memory.residual,
            .out = memory.out,
            .stride = memory.stride,
            .bests = memory.bests,
            .score_sums = memory.score_sums,
            .results =
                memory.bests != nullptr ? (shape.columns + tile_columns - 1) / tile_columns : groups_of(shape.columns),
            .per_temperature = std::min(ptx::log2_e / shape.temperature, std::numeric_limits<float>::max()),
            .rounds_to_tf32 = shape.rounds_to_tf32,
            .in_parts = shape.in_parts,
            .plain_sums = memory.plain_sums};
}

}  // namespace sluice::decoder

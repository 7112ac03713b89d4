#include "kernels/cuda/decoder/float_mma.hpp"

#include "core/error.hpp"
#include "kernels/cuda/decoder/float_mma_kernels.cuh"

namespace sluice::decoder {
namespace {

const FloatMmaKernels& float_mma_kernels_of(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return bf16_float_mma();
        case Precision::fp16:
            return fp16_float_mma();
        case Precision::tf32:
            return tf32_float_mma();
        default:
            throw ContractViolation("decoder: a product in a precision that mma.sync does not have");
    }
}

}  // namespace

MmaFloatProduct make_mma_float_product(const FloatProductShape& shape, Precision precision,
                                       const FloatProductMemory& memory) {
    constexpr std::uint32_t most_depth = 1U << 29;  // its bytes fit 32 bits
    expects(shape.depth <= most_depth, "decoder: a product that is too deep");
    const FloatMmaKernels& kernels = float_mma_kernels_of(precision);
    const auto& kernel = memory.bests != nullptr ? kernels.bests : kernels.values;
    const std::uint32_t tile_columns = kernel.tile.columns;
    const gemm::Arguments arguments{.bias = memory.bias,
                                    .active = memory.active,
                                    .range = {},
                                    .columns = shape.columns,
                                    .steps = 0,
                                    .tile_rows = 0,
                                    .tile_columns = 0,
                                    .group_rows = 0,
                                    .activation = shape.activation,
                                    .residual = memory.residual != nullptr,
                                    .chained = true};
    const gemm::MmaOperands operands{.a = static_cast<const std::uint8_t*>(memory.a),
                                     .b = static_cast<const std::uint8_t*>(memory.b),
                                     .rows = shape.rows,
                                     .row_bytes = shape.depth * static_cast<std::uint32_t>(number_bytes(precision))};
    const FloatProductArguments floats{.residual = memory.residual,
                                       .out = memory.out,
                                       .stride = memory.stride,
                                       .bests = memory.bests,
                                       .best_tiles = (shape.columns + tile_columns - 1) / tile_columns,
                                       .rounds_to_tf32 = shape.rounds_to_tf32,
                                       .in_half_parts = false};
    return {.work = std::make_shared<gemm::MmaProduct<FloatProductArguments>>(kernel, "decoder's product by mma.sync",
                                                                              arguments, operands, floats, 0),
            .tile_columns = tile_columns};
}

}  // namespace sluice::decoder

#include "kernels/cuda/decoder/product/work.hpp"

#include "core/error.hpp"
#include "kernels/cuda/decoder/product/arguments.cuh"
#include "kernels/cuda/decoder/product/mma_kernels.cuh"

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

FloatProductWork make_mma_float_product(const FloatProductShape& shape, Precision precision,
                                        const FloatProductMemory& memory) {
    constexpr std::uint32_t most_depth = 1U << 29;  // its bytes fit 32 bits
    expects(shape.depth <= most_depth, "decoder: a product that is too deep");
    const FloatMmaKernels& kernels = float_mma_kernels_of(precision);
    const auto& kernel = kernel_for(kernels, memory);
    const gemm::MmaOperands operands = gemm::make_mma_operands(precision, memory.a, memory.b, shape.rows, shape.depth);
    return {.work = gemm::make_mma_product(kernel, "decoder's product by mma.sync", arguments_of(shape, memory, 0),
                                           operands, target_of(shape, memory, kernel.tile.columns)),
            .tile_columns = kernel.tile.columns};
}

}  // namespace sluice::decoder

#include "core/error.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/product/arguments.cuh"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/work.hpp"
#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/gemm/wgmma_gemm.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::decoder {
namespace {

const FloatProductKernels& float_kernels_of(Precision precision) {
    switch (precision) {
        case Precision::bf16:
            return bf16_float_product();
        case Precision::fp16:
            return fp16_float_product();
        case Precision::tf32:
            return tf32_float_product();
        case Precision::tf32x3:
            return half_part_float_product();
        case Precision::fp16x2:
            return half_code_float_product();
        default:
            throw ContractViolation("decoder: a product in a precision that the tensor cores do not have");
    }
}

/// So many rows take less time in small tiles, with which they fill more multiprocessors.
constexpr std::uint32_t few_rows = most_rows_of_size(pass_sizes - 2);

const FloatProductKernel& kernel_of(const FloatProductKernels& kernels, const FloatProductShape& shape,
                                    const FloatProductMemory& memory) {
    const FloatProductKernel& of_few = shape.in_parts ? kernels.few_parts : kernels.few_values;
    const bool is_of_values = memory.bests == nullptr && memory.score_sums == nullptr;
    if (is_of_values && shape.rows <= few_rows && of_few.function != nullptr) {
        return of_few;
    }
    return shape.in_parts ? kernels.parts : kernel_for(kernels, memory);
}

/// Map of rows of `depth` values in two parts of 16 bits each, for copies of `box_rows` times 128 bytes of one part.
CUtensorMap map_of_parts(const void* matrix, std::uint32_t rows, std::uint64_t depth, std::uint32_t box_rows) {
    constexpr std::uint64_t half_bytes = 2;
    const TensorAxis axes[] = {
        {depth, 0, gemm::step_depth}, {2, depth * half_bytes, 1}, {rows, 2 * depth * half_bytes, box_rows}};
    return make_tensor_map(Precision::fp16, matrix, axes);
}

}  // namespace

FloatProductWork make_wgmma_float_product(const FloatProductShape& shape, Precision precision,
                                          const FloatProductMemory& memory) {
    const FloatProductKernels& kernels = float_kernels_of(precision);
    const FloatProductKernel& kernel = kernel_of(kernels, shape, memory);
    const GemmTile& tile = kernel.tile;
    const bool in_parts = has_parts(precision);
    const gemm::StepOperands operands =
        in_parts
            ? gemm::StepOperands{.a = map_of_parts(memory.a, shape.rows, shape.depth, tile.rows),
                                 .b = map_of_parts(memory.b, shape.columns, shape.depth,
                                                   tile.columns / tile.cluster_rows)}
            : gemm::make_step_operands(precision, tile, memory.a, shape.rows, memory.b, shape.columns, shape.depth);
    const auto bytes = static_cast<std::uint32_t>(number_bytes(in_parts ? Precision::fp16 : precision));
    const std::uint32_t steps_of_codes = precision == Precision::fp16x2 ? 2 : 1;
    const std::uint32_t steps = steps_of_codes * gemm::divide_up(shape.depth, gemm::step_bytes / bytes);
    return {.work = gemm::make_wgmma_product(kernel, "decoder's product", arguments_of(shape, memory, steps), operands,
                                             target_of(shape, memory, tile.columns)),
            .tile_columns = tile.columns};
}

}  // namespace sluice::decoder

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/classifier/conv_epilogue.cuh"
#include "kernels/cuda/classifier/conv_loader.cuh"
#include "kernels/cuda/classifier/conv_parts.hpp"
#include "kernels/cuda/classifier/conv_work.hpp"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::conv {
namespace {

using Kernel = gemm::ProductKernel<Operands, Target>;
using Sizes = Config<false>;  // sizes that do not depend on pooling

template <class Type, bool relu, bool pooled>
Kernel make_conv_kernel() {
    using C = Config<pooled>;
    return gemm::make_product_kernel<C>(&gemm::multiply<Factor<Type>, C, Loader<Type, C>, Epilogue<Type, relu, C>>);
}

template <class Type>
Kernel kernel_of(bool relu, bool pooled) {
    if (relu) {
        return pooled ? make_conv_kernel<Type, true, true>() : make_conv_kernel<Type, true, false>();
    }
    return pooled ? make_conv_kernel<Type, false, true>() : make_conv_kernel<Type, false, false>();
}

Kernel kernel_of(Precision precision, bool relu, bool pooled) {
    return precision == Precision::bf16   ? kernel_of<__nv_bfloat16>(relu, pooled)
           : precision == Precision::fp16 ? kernel_of<__half>(relu, pooled)
           : precision == Precision::tf32 ? kernel_of<wgmma::Tf32>(relu, pooled)
                                          : kernel_of<values::Tf32x3>(relu, pooled);
}

/// Rows of each of the three matrices with pooling.
std::uint32_t phase_rows_of(const ConvGemmShape& shape) {
    return gemm::product_rows + (Sizes::blocks - 1 + shape.taps - 1) / Sizes::blocks;
}

CUtensorMap input_map_of(const ConvGemmShape& shape, Precision precision, std::uint32_t items, const void* in) {
    const std::uint64_t rows = std::uint64_t{items} * shape.length;
    const std::uint32_t numbers = shape.channels * parts_of(precision);
    if (shape.pool == 1) {
        return make_matrix_map(precision, in, static_cast<std::uint32_t>(rows), numbers, Sizes::rows + shape.taps - 1);
    }
    const std::uint64_t number = number_bytes(precision);
    const std::uint64_t stride = numbers * number;
    const TensorAxis axes[] = {{numbers, 0, static_cast<std::uint32_t>(row_bytes / number)},
                               {rows / shape.pool, stride * shape.pool, phase_rows_of(shape)},
                               {shape.pool, stride, shape.pool}};
    return make_tensor_map(precision, in, axes);
}

}  // namespace

std::shared_ptr<const gemm::Work> make_wgmma_conv(const ConvGemmShape& shape, Precision precision, std::uint32_t items,
                                                  const ConvGemmMemory& memory, const ConvGemmOptions& options) {
    const auto part_bytes = static_cast<std::uint32_t>(shape.channels * number_bytes(precision));
    const bool pooled = shape.pool != 1;
    const std::uint32_t copied_rows = pooled ? Sizes::blocks * phase_rows_of(shape) : Sizes::rows + shape.taps - 1;
    expects(part_bytes % row_bytes == 0 && shape.outputs % Sizes::columns == 0 &&
                shape.outputs <= Sizes::most_columns && copied_rows <= Sizes::input_rows,
            "convolution: its sizes do not fit the tensor cores' kernel");
    if (items == 0) {
        return nullptr;
    }
    const std::uint64_t weight_numbers = std::uint64_t{shape.taps} * shape.channels * parts_of(precision);
    const Operands operands{
        .input = input_map_of(shape, precision, items, memory.in),
        .weights = make_matrix_map(precision, memory.weights, shape.outputs, weight_numbers, Sizes::product_columns),
        .all_weights = static_cast<const std::uint8_t*>(memory.weights),
        .weight_bytes = shape.outputs * weight_numbers * number_bytes(precision),
        .taps = shape.taps,
        .part_pieces = part_bytes / row_bytes,
        .phase_rows = phase_rows_of(shape),
        .copied_rows = copied_rows,
        // A step's weights are freed once the next one runs, and the first consumer has at most these inputs.
        .lead_steps = std::min(options.lead_steps, Sizes::input_stages * shape.taps - 1),
    };
    const std::uint32_t pieces = precision == Precision::tf32x3 ? ConvParts<true>(operands.part_pieces).pieces()
                                                                : ConvParts<false>(operands.part_pieces).pieces();
    const gemm::Arguments arguments{.bias = memory.bias,
                                    .columns = shape.outputs,
                                    .steps = pieces * shape.taps,
                                    .chained = options.chained,
                                    .rows = items * (shape.length / shape.pool)};
    return gemm::make_wgmma_product(kernel_of(precision, shape.relu, pooled), "convolution", arguments, operands,
                                    target_of(shape, items, memory));
}

}  // namespace sluice::conv

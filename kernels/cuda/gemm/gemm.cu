#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/gemm/wgmma_gemm.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::gemm {

StepOperands make_step_operands(Precision precision, const GemmTile& tile, const void* a, std::uint32_t rows,
                                const void* b, std::uint32_t columns, std::uint32_t depth) {
    return {.a = make_matrix_map(precision, a, rows, depth, tile.rows / tile.cluster_columns),
            .b = make_matrix_map(precision, b, columns, depth, tile.columns / tile.cluster_rows)};
}

BoxTarget make_box_target(Precision precision, void* out, const void* residual, std::uint32_t rows,
                          std::uint32_t columns) {
    const auto map_of = [&](const void* matrix) { return make_matrix_map(precision, matrix, rows, columns, box_rows); };
    return {.out = map_of(out), .residual = map_of(residual == nullptr ? out : residual)};
}

std::shared_ptr<const Work> make_wgmma_gemm(const GemmShape& shape, Precision precision, const GemmMemory& memory,
                                            const GemmOptions& options, std::size_t tile) {
    const GemmKernel::Kernel& kernel = (shape.gated ? gated_gemm_kernel() : gemm_kernel(tile)).of(precision);
    if (shape.rows == 0) {
        return nullptr;
    }
    BoxTarget target = make_box_target(precision, memory.out, memory.residual, shape.rows,
                                       shape.gated ? shape.columns / 2 : shape.columns);
    target.rows = memory.out;
    return make_wgmma_product(
        kernel, "product", arguments_of(shape, memory, options, divide_up(shape.depth, step_depth)),
        make_step_operands(precision, kernel.tile, memory.a, shape.rows, memory.b, shape.columns, shape.depth), target,
        options.multiprocessors);
}

}  // namespace sluice::gemm

#include "kernels/cuda/decoder/prompts/attending_product.hpp"

#include "core/error.hpp"
#include "kernels/cuda/decoder/prompts/attending_epilogue.cuh"
#include "kernels/cuda/gemm/fp8_wgmma.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice::decoder {
namespace {

using Kernel = gemm::ProductKernel<gemm::StepOperands, AttendingTarget>;

template <class Factor, Precision precision>
Kernel make_attending_kernel() {
    using C = gemm::Config<2, 2, 192, 4, 4, 2, 1, true>;
    using Epilogue = AttendingEpilogue<precision, C>;
    using Loader = gemm::StepLoader<C, gemm::step_depth, Epilogue::parts>;
    return gemm::make_product_kernel<C>(&gemm::multiply<Factor, C, Loader, Epilogue>);
}

Kernel attending_kernel(Precision precision) {
    switch (precision) {
        case Precision::fp8:
            return make_attending_kernel<wgmma::E4m3, Precision::bf16>();
        case Precision::bf16:
            return make_attending_kernel<__nv_bfloat16, Precision::bf16>();
        default:
            return make_attending_kernel<__half, Precision::fp16>();
    }
}

/// The map of weights whose rows are queries', keys' and values'.
CUtensorMap map_of_parts(Precision precision, const void* weights, std::uint32_t part_rows, std::uint32_t depth,
                         std::uint32_t box_rows) {
    constexpr std::uint32_t parts = 3;
    const std::uint64_t row_bytes = depth * number_bytes(precision);
    const TensorAxis axes[] = {
        {depth, 0, gemm::step_depth}, {part_rows, row_bytes, box_rows / parts}, {parts, part_rows * row_bytes, parts}};
    return make_tensor_map(precision, weights, axes);
}

}  // namespace

AttendingProduct::AttendingProduct(const Memory& memory, Precision precision, const AttendingLayer& layer,
                                   const GemmShape& shape, const GemmMemory& product, const float* sum_scale) {
    const Attention& attention = layer.attention;
    const std::uint32_t width = attention.query_width();
    const std::uint64_t cache_rows = std::uint64_t{layer.cache.pages} * page_positions;
    expects(memory.prompt_pages != nullptr && product.active != nullptr && shape.columns == 3 * width &&
                attention.stride == 3 * width && attention.out_stride == width && layer.cache.width == width,
            "attending product: rows of queries, keys and values of as many heads each, and pages of prompts");
    expects(gemm::is_addressable(shape) && cache_rows <= gemm::most_extent, "attending product: too large");
    const Precision values = values_in(precision);
    const Kernel kernel = attending_kernel(precision);
    const GemmTile& tile = kernel.tile;
    const std::byte* const of_layer = static_cast<const std::byte*>(layer.cache.values) +
                                      layer.number * cache_rows * 2 * width * number_bytes(values);
    const auto boxes_of = [&](const void* matrix, std::uint32_t rows, std::uint32_t columns) {
        return make_matrix_map(values, matrix, rows, columns, gemm::box_rows);
    };
    // The copy engine only moves bits: it takes two e4m3 values for one of bf16.
    const std::uint32_t depth = precision == Precision::fp8 ? shape.depth / 2 : shape.depth;
    gemm::Arguments arguments =
        gemm::arguments_of(shape, product, {.chained = true}, gemm::divide_up(depth, gemm::step_depth));
    arguments.scale = sum_scale;
    work_ = gemm::make_wgmma_product(
        kernel, "queries, keys, values", arguments,
        gemm::StepOperands{.a = make_matrix_map(values, product.a, shape.rows, depth, tile.rows / tile.cluster_columns),
                           .b = map_of_parts(values, product.b, width, depth, tile.columns / tile.cluster_rows)},
        AttendingTarget{.rows = boxes_of(attention.queries, shape.rows, 3 * width),
                        .mixed = boxes_of(attention.out, shape.rows, width),
                        .cache = boxes_of(of_layer, static_cast<std::uint32_t>(cache_rows), 2 * width),
                        .prompt_pages = memory.prompt_pages,
                        .scale = attention.scale,
                        .attends = !layer.is_last});
}

}  // namespace sluice::decoder

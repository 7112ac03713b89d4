#include "kernels/cuda/gemm/fp8_gemm.hpp"

#include <algorithm>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/fp8_kernel.cuh"
#include "kernels/cuda/gemm/fp8_ping_pong.hpp"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/gemm/requirements.hpp"
#include "kernels/cuda/gemm/wgmma_gemm.hpp"

namespace sluice {
namespace {

using PromotedKernel = gemm::ProductKernel<gemm::StepOperands, gemm::Fp8Target>;

PromotedKernel promoted_kernel(const GemmTile& tile) {
    using Large = gemm::Config<2, 1, 192, 4, 3, 2, 1>;
    using Small = gemm::Config<2, 1, 128, 6, 2>;
    return tile.columns == Large::columns ? gemm::make_product_kernel<Large>(&gemm::multiply_fp8<Large>)
                                          : gemm::make_product_kernel<Small>(&gemm::multiply_fp8<Small>);
}

/// There is a kernel with gates for one tile only.
bool has_results(const GemmTile& tile, const GemmShape& shape) {
    return !shape.gated || tile == gemm_tiles[gated_gemm_tile];
}

gemm::Results results_of(const GemmShape& shape, const Fp8GemmMemory& memory) {
    if (shape.gated) {
        return gemm::Results::gated;
    }
    if (memory.code_scale == nullptr) {
        return gemm::Results::values;
    }
    return shape.activation == Activation::gelu_tanh ? gemm::Results::codes_by_tanh : gemm::Results::codes_by_erf;
}

/// Index of the tile with the least work for the busiest multiprocessor, the first among equals.
std::size_t choose_fp8_tile(const GemmShape& shape, Fp8Sums sums, std::uint32_t multiprocessors) {
    const auto work = [&](const GemmTile& tile) {
        return sums_of(tile) == sums && has_results(tile, shape)
                   ? gemm_rounds(tile, shape.rows, shape.columns, multiprocessors) * tile.rows * tile.columns
                   : UINT64_MAX;
    };
    return static_cast<std::size_t>(std::ranges::min_element(fp8_gemm_tiles, {}, work) - fp8_gemm_tiles.begin());
}

void check_product(const GemmShape& shape, Fp8Sums sums, const Fp8GemmMemory& memory) {
    constexpr std::size_t copied = 16;
    expects(shape.columns > 0 && shape.columns % 8 == 0 && shape.depth > 0 && shape.depth % 16 == 0,
            "product of e4m3: columns are a multiple of 8, depth is one of 16");
    expects(!shape.gated || (sums == Fp8Sums::tensor && shape.columns % (2 * gate_columns) == 0 &&
                             memory.residual == nullptr && memory.code_scale == nullptr),
            "product of e4m3: gates of whole groups, with the tensor cores' sums and without a residual, in bf16");
    expects(shape.activation != Activation::silu || shape.gated, "product of e4m3: silu is for gates only");
    expects(gemm::is_addressable(shape), "product of e4m3: too large");
    const void* const all[] = {memory.a,    memory.b,        memory.a_scales, memory.b_scales,
                               memory.bias, memory.residual, memory.out};
    const bool promoted = sums == Fp8Sums::promoted;
    expects(promoted ? memory.a_scales != nullptr && memory.b_scales != nullptr : memory.b_scales == nullptr,
            "product of e4m3: columns have scales where sums are promoted, and rows have them there");
    expects(memory.code_scale == nullptr ||
                (!promoted && memory.residual == nullptr && shape.columns % gemm::box_columns == 0),
            "product of e4m3: results in e4m3 are of the tensor cores' sums, without a residual, 64 columns at a time");
    const bool has_gelu = shape.activation == Activation::gelu_tanh || shape.activation == Activation::gelu_erf;
    expects(memory.code_scale == nullptr || has_gelu, "product of e4m3: results in e4m3 are GELU's");
    expects(gemm::is_aligned(memory.scale, sizeof(float)) && gemm::is_aligned(memory.code_scale, sizeof(float)),
            "product of e4m3: a scale is aligned to its size");
    expects(std::ranges::all_of(all, [](const void* pointer) { return gemm::is_aligned(pointer, copied); }),
            "product of e4m3: its memory is aligned to 16 bytes");
    expects(instructions_of_current_gpu() == MatrixInstructions::wgmma, "product of e4m3: needs wgmma");
}

}  // namespace

Fp8Gemm::Fp8Gemm(const GemmShape& shape, Fp8Sums sums, const Fp8GemmMemory& memory, const GemmOptions& options) {
    check_product(shape, sums, memory);
    const std::uint32_t multiprocessors = gemm::multiprocessors_or_all(options.multiprocessors);
    tile_number_ = options.tile ? *options.tile : choose_fp8_tile(shape, sums, multiprocessors);
    expects(tile_number_ < fp8_gemm_tiles.size() && sums_of(fp8_gemm_tiles[tile_number_]) == sums &&
                has_results(fp8_gemm_tiles[tile_number_], shape),
            "product of e4m3: no such tile for these sums");
    const GemmTile& tile = fp8_gemm_tiles[tile_number_];
    if (shape.rows == 0) {
        return;
    }
    const GemmMemory as_narrow{.a = memory.a,
                               .b = memory.b,
                               .bias = memory.bias,
                               .residual = memory.residual,
                               .out = memory.out,
                               .active = memory.active,
                               .row_scales = memory.a_scales};
    // The copy engine only moves bits: it takes two e4m3 values for one of bf16.
    const gemm::StepOperands operands =
        gemm::make_step_operands(Precision::bf16, tile, memory.a, shape.rows, memory.b, shape.columns, shape.depth / 2);
    const gemm::Results results = results_of(shape, memory);
    gemm::BoxTarget boxes = gemm::make_box_target(Precision::bf16, memory.out, memory.residual, shape.rows,
                                                  results == gemm::Results::values ? shape.columns : shape.columns / 2);
    boxes.rows = memory.out;
    boxes.code_scale = memory.code_scale;
    gemm::Arguments arguments =
        gemm::arguments_of(shape, as_narrow, options, gemm::divide_up(shape.depth, gemm::step_bytes));
    arguments.scale = memory.scale;
    constexpr const char* name = "product of e4m3";
    work_ = sums == Fp8Sums::promoted
                ? gemm::make_wgmma_product(promoted_kernel(tile), name, arguments, operands,
                                           gemm::Fp8Target{.boxes = boxes, .column_scales = memory.b_scales},
                                           multiprocessors)
                : gemm::make_wgmma_product(gemm::fp8_ping_pong(tile.columns, results), name, arguments, operands, boxes,
                                           multiprocessors);
}

void Fp8Gemm::enqueue(cudaStream_t stream) const {
    if (work_) {
        work_->enqueue(stream);
    }
}

std::string Fp8Gemm::path() const {
    return "wgmma e4m3 " + describe(fp8_gemm_tiles[tile_number_]);
}

}  // namespace sluice

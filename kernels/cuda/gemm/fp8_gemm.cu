#include "kernels/cuda/gemm/fp8_gemm.hpp"

#include <algorithm>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/fp8_kernel.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/gemm/product.cuh"
#include "kernels/cuda/gemm/requirements.hpp"
#include "kernels/cuda/gemm/wgmma_gemm.hpp"

namespace sluice {
namespace {

using Fp8Kernel = gemm::ProductKernel<gemm::StepOperands, gemm::Fp8Target>;

const Fp8Kernel& fp8_kernel(std::size_t tile) {
    using Large = gemm::Config<2, 1, 192, 4, 3, 2, 1>;
    using Small = gemm::Config<2, 1, 128, 6, 2>;
    static const std::array<Fp8Kernel, fp8_gemm_tiles.size()> kernels{
        gemm::make_product_kernel<Large>(&gemm::multiply_fp8<Large>),
        gemm::make_product_kernel<Small>(&gemm::multiply_fp8<Small>)};
    expects(tile < kernels.size() && kernels[tile].tile == fp8_gemm_tiles[tile], "product of e4m3: no such tile");
    return kernels[tile];
}

/// Index of the tile with the least work for the busiest multiprocessor, the first among equals.
std::size_t choose_fp8_tile(const GemmShape& shape, std::uint32_t multiprocessors) {
    const auto work = [&](const GemmTile& tile) {
        return gemm_rounds(tile, shape.rows, shape.columns, multiprocessors) * tile.rows * tile.columns;
    };
    return static_cast<std::size_t>(std::ranges::min_element(fp8_gemm_tiles, {}, work) - fp8_gemm_tiles.begin());
}

void check_product(const GemmShape& shape, const Fp8GemmMemory& memory) {
    constexpr std::size_t copied = 16;
    expects(shape.columns > 0 && shape.columns % 8 == 0 && shape.depth > 0 && shape.depth % 16 == 0,
            "product of e4m3: columns are a multiple of 8, depth is one of 16");
    expects(!shape.gated, "product of e4m3: has no gates");
    expects(gemm::is_addressable(shape), "product of e4m3: too large");
    const void* const all[] = {memory.a,    memory.b,        memory.a_scales, memory.b_scales,
                               memory.bias, memory.residual, memory.out};
    expects(memory.a_scales != nullptr && memory.b_scales != nullptr, "product of e4m3: rows and columns have scales");
    expects(std::ranges::all_of(all, [](const void* pointer) { return gemm::is_aligned(pointer, copied); }),
            "product of e4m3: its memory is aligned to 16 bytes");
    expects(instructions_of_current_gpu() == MatrixInstructions::wgmma, "product of e4m3: needs wgmma");
}

}  // namespace

Fp8Gemm::Fp8Gemm(const GemmShape& shape, const Fp8GemmMemory& memory, const GemmOptions& options) {
    check_product(shape, memory);
    const std::uint32_t multiprocessors = gemm::multiprocessors_or_all(options.multiprocessors);
    tile_number_ = options.tile ? *options.tile : choose_fp8_tile(shape, multiprocessors);
    const Fp8Kernel& kernel = fp8_kernel(tile_number_);
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
    const gemm::StepOperands operands = gemm::make_step_operands(Precision::bf16, kernel.tile, memory.a, shape.rows,
                                                                 memory.b, shape.columns, shape.depth / 2);
    const gemm::BoxTarget boxes =
        gemm::make_box_target(Precision::bf16, memory.out, memory.residual, shape.rows, shape.columns);
    work_ = gemm::make_wgmma_product(
        kernel, "product of e4m3",
        gemm::arguments_of(shape, as_narrow, options, gemm::divide_up(shape.depth, gemm::step_bytes)), operands,
        gemm::Fp8Target{.boxes = boxes, .column_scales = memory.b_scales}, multiprocessors);
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

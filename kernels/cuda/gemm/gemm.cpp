#include "kernels/cuda/gemm/gemm.hpp"

#include <algorithm>

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/mma_gemm.hpp"
#include "kernels/cuda/gemm/requirements.hpp"
#include "kernels/cuda/gemm/wgmma_gemm.hpp"

namespace sluice {
namespace {

/// Whether all can be copied in pieces of 16 bytes.
bool fits_copies(const GemmShape& shape, const GemmMemory& memory) {
    constexpr std::uint32_t multiple = 8;
    constexpr std::size_t piece = 16;
    const void* const all[] = {memory.a, memory.b, memory.bias, memory.residual, memory.out};
    return shape.columns % multiple == 0 && shape.depth % multiple == 0 &&
           std::ranges::all_of(all, [](const void* pointer) { return gemm::is_aligned(pointer, piece); });
}

std::size_t wgmma_tile_number(const GemmShape& shape, const GemmOptions& options) {
    if (shape.gated) {
        expects(options.tile.value_or(gated_gemm_tile) == gated_gemm_tile, "product: no such tile with gates");
        return gated_gemm_tile;
    }
    const std::size_t number = options.tile.value_or(
        choose_gemm_tile(shape.rows, shape.columns, shape.depth, gemm::multiprocessors_or_all(options.multiprocessors),
                         options.previous_tile));
    expects(number < gemm_tiles.size(), "product: no such tile");
    return number;
}

}  // namespace

Gemm::Gemm(const GemmShape& shape, Precision precision, const GemmMemory& memory, const GemmOptions& options)
    : instructions_(MatrixInstructions::mma), unaligned_(!fits_copies(shape, memory)) {
    expects(precision == Precision::bf16 || precision == Precision::fp16, "product: of bf16 or fp16 only");
    expects(shape.columns > 0 && shape.depth > 0, "product: without columns or depth");
    expects(gemm::is_addressable(shape), "product: too large");
    for (const void* const values : {memory.a, memory.b, memory.residual, static_cast<const void*>(memory.out)}) {
        expects(gemm::is_aligned(values, number_bytes(precision)),
                "product: values that are not aligned to their size");
    }
    expects(gemm::is_aligned(memory.bias, sizeof(float)) && gemm::is_aligned(memory.row_scales, sizeof(float)),
            "product: a bias or scales that are not aligned to their size");
    expects(gemm::is_aligned(memory.norm.sums, sizeof(RowSums)) && gemm::is_aligned(memory.out_sums, sizeof(RowSums)),
            "product: sums of rows that are not aligned to their size");
    expects(memory.norm.sums == nullptr || (shape.depth % summed_values == 0 && memory.row_scales == nullptr),
            "product: sums of rows that are no multiple of 64 long, or beside scales");
    expects(memory.out_sums == nullptr || shape.columns % summed_values == 0,
            "product: sums of rows that are no multiple of 64 long");
    expects(!shape.gated || (shape.columns % (2 * gate_columns) == 0 && memory.residual == nullptr &&
                             memory.out_sums == nullptr && !unaligned_),
            "product: gates of no whole groups, unaligned, or with a residual or sums of rows");
    expects(shape.activation != Activation::silu || shape.gated, "product: silu is for gates only");
    if (!unaligned_) {
        instructions_ = options.instructions.value_or(instructions_of_current_gpu());
    }
    if (instructions_ == MatrixInstructions::wgmma) {
        tile_number_ = wgmma_tile_number(shape, options);
        tile_ = gemm_tiles[tile_number_];
        work_ = gemm::make_wgmma_gemm(shape, precision, memory, options, tile_number_);
        return;
    }
    expects(memory.norm.sums == nullptr && memory.out_sums == nullptr && !shape.gated,
            "product: sums of rows and gates by wgmma only");
    tile_number_ = gemm::mma_tile_number(shape, options, unaligned_);
    tile_ = unaligned_ ? unaligned_tiles[tile_number_] : mma_tiles[tile_number_];
    if (shape.rows != 0) {
        work_ = gemm::make_mma_gemm(shape, precision, memory, options, tile_number_, unaligned_);
    }
}

std::string Gemm::path() const {
    const char* const instructions = instructions_ == MatrixInstructions::wgmma ? "wgmma " : "mma.sync ";
    return instructions + describe(tile_) + (unaligned_ ? ", unaligned" : "");
}

void Gemm::enqueue(cudaStream_t stream) const {
    if (work_) {
        work_->enqueue(stream);
    }
}

}  // namespace sluice

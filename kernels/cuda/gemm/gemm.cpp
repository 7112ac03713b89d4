#include "kernels/cuda/gemm/gemm.hpp"

#include "core/device/cuda_device.hpp"
#include "core/error.hpp"
#include "kernels/cuda/gemm/mma_gemm.hpp"
#include "kernels/cuda/gemm/mma_work.hpp"

namespace sluice {
namespace {

bool aligned_for_copies(const void* pointer) {
    constexpr std::uint32_t alignment = 16;
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

}  // namespace

Gemm::Gemm(const GemmShape& shape, Precision precision, const GemmMemory& memory, const GemmOptions& options)
    : shape_(shape), memory_(memory), chained_(options.chained), range_(options.range) {
    constexpr std::uint32_t most = 1U << 30;  // the copy engine's coordinates have a sign
    expects(precision == Precision::bf16 || precision == Precision::fp16, "product: of bf16 or fp16 only");
    expects(shape.columns > 0 && shape.columns % 8 == 0 && shape.depth > 0 && shape.depth % 8 == 0,
            "product: columns and depth are multiples of 8");
    expects(shape.rows <= most && shape.columns <= most && shape.depth <= most, "product: too large");
    expects(aligned_for_copies(memory.a) && aligned_for_copies(memory.b) && aligned_for_copies(memory.bias) &&
                aligned_for_copies(memory.residual) && aligned_for_copies(memory.out),
            "product: its memory is aligned to 16 bytes");
    if (options.instructions.value_or(instructions_of_current_gpu()) == MatrixInstructions::wgmma) {
        use_wgmma(precision, options);
        return;
    }
    tile_number_ = gemm::mma_tile_number(shape, options);
    tile_ = mma_tiles[tile_number_];
    if (shape.rows != 0) {
        by_mma_ = gemm::make_mma_gemm(shape, precision, memory, options, tile_number_);
    }
}

void Gemm::enqueue(cudaStream_t stream) const {
    if (shape_.rows == 0) {
        return;
    }
    if (by_mma_) {
        by_mma_->enqueue(stream);
    } else {
        enqueue_wgmma(stream);
    }
}

}  // namespace sluice

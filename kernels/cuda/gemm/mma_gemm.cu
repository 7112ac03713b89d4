#include "kernels/cuda/gemm/mma_gemm.hpp"

#include "core/error.hpp"
#include "kernels/cuda/gemm/mma_narrow.cuh"
#include "kernels/cuda/gemm/requirements.hpp"

namespace sluice::gemm {

std::size_t mma_tile_number(const GemmShape& shape, const GemmOptions& options, bool unaligned) {
    const auto choose = [&] {
        const std::uint32_t multiprocessors = multiprocessors_or_all(options.multiprocessors);
        return unaligned ? choose_unaligned_tile(shape.rows, shape.columns, shape.depth, multiprocessors)
                         : choose_mma_tile(shape.rows, shape.columns, shape.depth, multiprocessors);
    };
    const std::size_t number = options.tile ? *options.tile : choose();
    expects(number < (unaligned ? unaligned_tiles.size() : mma_tiles.size()), "product: no such tile by mma.sync");
    return number;
}

std::shared_ptr<const Work> make_mma_gemm(const GemmShape& shape, Precision precision, const GemmMemory& memory,
                                          const GemmOptions& options, std::size_t tile, bool unaligned) {
    const MmaNarrowKernels& aligned = precision == Precision::bf16 ? bf16_mma_kernels() : fp16_mma_kernels();
    const MmaKernel<NarrowTarget>& kernel = unaligned ? unaligned_mma_kernels(precision)[tile] : aligned[tile];
    return make_mma_product(kernel, "product by mma.sync", arguments_of(shape, memory, options, 0),
                            make_mma_operands(precision, memory.a, memory.b, shape.rows, shape.depth),
                            NarrowTarget{.residual = memory.residual, .out = memory.out}, options.multiprocessors);
}

}  // namespace sluice::gemm

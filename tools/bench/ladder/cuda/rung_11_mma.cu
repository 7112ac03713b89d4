// 11, mma.sync: from here on bf16 with sums in fp32, on the tensor cores. A warp's instruction multiplies 16 by 8 by 16
// where 32 lanes' fused multiply-adds were 32 products; ldmatrix loads operands in the layout of the instruction, one
// product ahead, from rows of 64 bytes that are swizzled, so that neither copies nor loads have bank conflicts. It is
// the models' kernel on GPUs before Hopper: kernels/cuda/gemm/mma_kernel.cuh.
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

MadeProduct make_mma(const Size& size, const Operands& operands) {
    const Gemm product({.rows = size.m, .columns = size.n, .depth = size.k}, Precision::bf16,
                       {.a = operands.a, .b = operands.b, .bias = nullptr, .residual = nullptr, .out = operands.out},
                       {.instructions = MatrixInstructions::mma});
    return {[product](cudaStream_t stream) { product.enqueue(stream); }, product.path()};
}

}  // namespace

const Rung rung_11_mma{11, "mma.sync", Precision::bf16, {1, 1, 1}, false, &make_mma};

}  // namespace sluice::ladder

// 18, the models' kernel: Gemm, for any size, with what comes after the product in the same kernel. What the copy
// engine cannot move, rows that are no multiple of 16 bytes, goes through registers to mma.sync. Beyond 17, it chooses
// among tiles: a large product takes 256 by 192 in pairs, where 448 rows are copied for 1.5 times the products of 384
// rows. The bytes that do not move are power that the clock gets.
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

MadeProduct make_gemm(const Size& size, const Operands& operands) {
    const Gemm product({.rows = size.m, .columns = size.n, .depth = size.k}, Precision::bf16,
                       {.a = operands.a, .b = operands.b, .bias = nullptr, .residual = nullptr, .out = operands.out});
    return {[product](cudaStream_t stream) { product.enqueue(stream); }, product.path()};
}

}  // namespace

const Rung rung_18_models{18, "the models' kernel", Precision::bf16, {1, 1, 1}, true, &make_gemm};

}  // namespace sluice::ladder

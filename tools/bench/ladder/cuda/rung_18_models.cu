// 18, the models' kernel: Gemm, for any size that the copy engine can move, with what comes after the product in the
// same kernel. Beyond 17, it chooses among tiles: a large product takes 256 by 192 in pairs, where 448 rows are copied
// for 1.5 times the products of 384 rows. The bytes that do not move are power that the clock gets.
#include "kernels/cuda/gemm/gemm.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

std::function<void(cudaStream_t)> make_gemm(const Size& size, const Operands& operands) {
    const Gemm product({.rows = size.m, .columns = size.n, .depth = size.k}, Precision::bf16,
                       {.a = operands.a, .b = operands.b, .bias = nullptr, .residual = nullptr, .out = operands.out});
    return [product](cudaStream_t stream) { product.enqueue(stream); };
}

}  // namespace

const Rung rung_18_models{18, "the models' kernel", Precision::bf16, {1, 8, 8}, true, &make_gemm};

}  // namespace sluice::ladder

// 18, the models' kernel: Gemm, with its choice of tiles, any size that the copy engine can move, and what comes after
// the product in the same kernel. Beyond 17, its second warpgroup begins three steps after the first: while one stores,
// the other has products left, and the tensor cores do not wait for either.
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

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/kernel.cuh"
#include "kernels/cuda/gemm/step_loader.cuh"

namespace sluice::gemm {

template <class C, class Operands, class Target>
ProductKernel<Operands, Target> make_product_kernel(void (*function)(Arguments, Operands, Target)) {
    return {.function = function,
            .tile = {.rows = C::rows,
                     .columns = C::columns,
                     .cluster_rows = C::cluster_rows,
                     .cluster_columns = C::cluster_columns,
                     .ping_pong = C::turns > 1},
            .threads = C::threads,
            .shared_bytes = C::shared_bytes};
}

/// Each tile's kernel has its own source file: they take long to compile.
template <class C, Results results = Results::values>
GemmKernel make_kernel() {
    using Bf16 = __nv_bfloat16;
    return {.bf16 = make_product_kernel<C>(&multiply<Bf16, C, StepLoader<C>, BoxEpilogue<Bf16, C, results>>),
            .fp16 = make_product_kernel<C>(&multiply<__half, C, StepLoader<C>, BoxEpilogue<__half, C, results>>)};
}

}  // namespace sluice::gemm

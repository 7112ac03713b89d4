#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/kernel.cuh"

namespace sluice::gemm {

/// Each tile's kernel is made in a source of its own: they take long to compile.
template <class C>
GemmKernel make_kernel() {
    return {.bf16 = &multiply<__nv_bfloat16, C>,
            .fp16 = &multiply<__half, C>,
            .tile = {.rows = C::rows,
                     .columns = C::columns,
                     .cluster_rows = C::cluster_rows,
                     .cluster_columns = C::cluster_columns,
                     .ping_pong = C::ping_pong},
            .threads = C::threads,
            .shared_bytes = C::shared_bytes};
}

}  // namespace sluice::gemm

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/device/cuda_error.hpp"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {

/// Kernel of an fp32 rung: out = a b, all row-major.
using Fp32Kernel = void (*)(Size, const float* a, const float* b, float* out);

/// One block per tile of rows x columns; blockIdx.x counts tiles along columns.
template <Fp32Kernel kernel, std::uint32_t rows, std::uint32_t columns, std::uint32_t threads>
MadeProduct in_tiles(const Size& size, const Operands& operands) {
    return {[size, operands](cudaStream_t stream) {
        const dim3 blocks((size.n + columns - 1) / columns, (size.m + rows - 1) / rows);
        kernel<<<blocks, threads, 0, stream>>>(size, static_cast<const float*>(operands.a),
                                               static_cast<const float*>(operands.b),
                                               static_cast<float*>(operands.out));
        check_launch("ladder");
    }};
}

}  // namespace sluice::ladder

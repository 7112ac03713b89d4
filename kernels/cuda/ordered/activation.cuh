#pragma once

#include <cstdint>

#include "kernels/cuda/ordered/arithmetic.cuh"

namespace sluice::ordered {

/// gelu_erf_all() of the host, bit for bit.
__device__ __forceinline__ float gelu_erf_of(float x) {
    constexpr std::uint32_t sign_bit = 0x80000000U;
    constexpr float root_half = 0.70710678F;
    const float z = __fmul_rn(__uint_as_float(__float_as_uint(x) & ~sign_bit), root_half);
    const float t = __fdiv_rn(1.0F, __fadd_rn(__fmul_rn(z, 0.3275911F), 1.0F));
    float p = __fadd_rn(__fmul_rn(t, 1.061405429F), -1.453152027F);
    p = __fadd_rn(__fmul_rn(p, t), 1.421413741F);
    p = __fadd_rn(__fmul_rn(p, t), -0.284496736F);
    p = __fadd_rn(__fmul_rn(p, t), 0.254829592F);
    const float rest = __fmul_rn(__fmul_rn(p, t), exp_of(-__fmul_rn(z, z)));
    return __fmul_rn(__fmul_rn(x, 0.5F), x < 0 ? rest : __fadd_rn(2.0F, -rest));
}

/// silu_all() of the host, bit for bit.
__device__ __forceinline__ float silu_of(float x) {
    return __fdiv_rn(x, __fadd_rn(exp_of(-x), 1.0F));
}

}  // namespace sluice::ordered

#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/gemm_kernel.hpp"

namespace sluice::gemm {

/// The kernel of products of e4m3 that the tensor cores add up, in ping-pong with tiles of 128 rows by 128 or 192
/// columns; gated ones have 192. Values are in bf16.
[[nodiscard]] GemmKernel::Kernel fp8_ping_pong(std::uint32_t columns, Results results);

}  // namespace sluice::gemm

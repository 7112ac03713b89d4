#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/classifier/conv_gemm_shape.hpp"

namespace sluice {

/// The convolution of ConvGemm in IEEE fp32, without tensor cores. `weights` come from pack_conv_weights(…,
/// Precision::fp32, …). channels is a multiple of 16, outputs one of 128, taps at most 9; the rest as in ConvGemmShape.
///
/// A block computes 96 rows by 128 outputs, a thread 12 by 8. As in ConvGemm each row is copied once for all taps.
class ConvSimt {
public:
    /// Throws ContractViolation if the shape is not supported, Error if CUDA fails.
    ConvSimt(const ConvGemmShape& shape, std::uint32_t most_items, const ConvGemmMemory& memory);

    /// Enqueues the convolution of the first `items` items, at most most_items; allocates nothing. Results do not
    /// depend on `items`. Throws Error as check_cuda() if the launch fails.
    void enqueue(std::uint32_t items, cudaStream_t stream) const;

private:
    ConvGemmShape shape_;
    std::uint32_t most_items_;
    ConvGemmMemory memory_;
};

}  // namespace sluice

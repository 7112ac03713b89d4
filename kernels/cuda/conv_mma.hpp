#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/conv_gemm_shape.hpp"

namespace sluice {

/// What ConvGemm does, on the same weights, by mma.sync, which every GPU from compute capability 8.0 on has. outputs is
/// any multiple of 128, taps at most 77, and 109 with pooling; the rest as in ConvGemmShape.
///
/// As there the convolution is a matrix product whose row p is the window in[p … p + taps), and no window is ever
/// written down. A block computes 128 rows by 128 outputs, 96 with pooling, and two blocks share a multiprocessor of
/// compute capability 8.0 or 9.0, so that one multiplies while the other waits or stores. Each row is copied once for
/// all taps, in pieces of 128 bytes of channels, and the weights in steps of 128 bytes of k: their 16-byte units lie
/// permuted by the row's number, so that neither copies nor loads meet in a bank, whichever row a tap begins at. With
/// pooling, row 3 q + m is row q of product m, so that a thread has all three of one maximum.
class ConvMma {
public:
    /// Throws ContractViolation when the shape does not fit, Error when CUDA fails.
    ConvMma(const ConvGemmShape& shape, Precision precision, std::uint32_t max_items, const ConvGemmMemory& memory);

    /// Enqueues the convolution of the first `items` items, at most max_items; allocates nothing. Results do not depend
    /// on `items`. Throws Error as check_cuda() when CUDA does not take it.
    void enqueue(std::uint32_t items, cudaStream_t stream) const;

private:
    ConvGemmShape shape_;
    Precision precision_;
    std::uint32_t max_items_;
    ConvGemmMemory memory_;
};

}  // namespace sluice

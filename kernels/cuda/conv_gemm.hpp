#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/conv_gemm_shape.hpp"

namespace sluice {

struct ConvGemmOptions {
    std::uint32_t lead_steps = 3;  ///< By which one of a block's two warpgroups that multiply is ahead.
    bool chained = false;          ///< May start while the kernel before it in the stream ends.
};

/// One convolution on the tensor cores (not fp32) of the current device at fixed places in memory, by wgmma: see
/// MatrixInstructions.
///
/// The convolution is a matrix product whose row p is the window in[p … p + taps): no window is ever written down. A
/// block computes 192 rows by 256 outputs. It copies each row once for all taps, since a matrix in swizzled shared
/// memory may begin at any row, and the weights in steps of 128 bytes of k. Rows run over all items; those whose window
/// would cross an item's end are dropped. With pooling, rows 3 q, 3 q + 1 and 3 q + 2 are kept in three matrices, so
/// that a thread has all three of one maximum. For tf32x3 ConvParts says what is multiplied.
class ConvGemm {
public:
    /// Throws ContractViolation when the shape does not fit or the build has no code for sm_90a, Error when CUDA fails.
    ConvGemm(const ConvGemmShape& shape, Precision precision, std::uint32_t max_items, const ConvGemmMemory& memory,
             const ConvGemmOptions& options = {});

    /// Enqueues the convolution of the first `items` items, at most max_items; allocates nothing. Results do not depend
    /// on `items`. Throws Error as check_cuda() when CUDA does not take it.
    void enqueue(std::uint32_t items, cudaStream_t stream) const;

private:
    ConvGemmShape shape_;
    Precision precision_;
    std::uint32_t max_items_;
    ConvGemmMemory memory_;
    ConvGemmOptions options_;
    std::uint32_t processors_ = 0;
    CUtensorMap in_map_{};
    CUtensorMap weight_map_{};
};

}  // namespace sluice

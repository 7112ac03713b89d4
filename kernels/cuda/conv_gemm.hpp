#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/device/gpu_code.hpp"
#include "kernels/cuda/conv_gemm_shape.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice {

struct ConvGemmOptions {
    std::uint32_t lead_steps = 3;  ///< By wgmma: by which one of a block's two warpgroups that multiply is ahead.
    bool chained = false;          ///< By wgmma: may start while the kernel before it in the stream ends.
    /// Else the fastest of the current device and the build.
    std::optional<MatrixInstructions> instructions{};
};

/// One convolution of `items` items on the tensor cores (not fp32) of the current device at fixed places in memory, by
/// wgmma or mma.sync: see MatrixInstructions.
///
/// The convolution is a matrix product whose row p is the window in[p … p + taps): no window is ever written down. Each
/// row is copied once for all taps, in pieces of 128 bytes of channels, since a matrix in shared memory may begin at
/// any row, and the weights in steps of 128 bytes of k. Rows run over all items; those whose window would cross an
/// item's end are dropped. With pooling, a thread has all three rows of one maximum. For tf32x3 ConvParts says what is
/// multiplied.
///
/// By wgmma it is gemm/'s kernel with a loader and an epilogue of its own; a block computes 192 rows by 256 outputs. By
/// mma.sync, a block computes 128 rows by 128 outputs, 96 with pooling, and two share a multiprocessor of compute
/// capability 8.0 or 9.0, so that one multiplies while the other waits or stores.
class ConvGemm {
public:
    /// Throws ContractViolation when the shape does not fit or the build has no code for the instructions, Error when
    /// CUDA fails.
    ConvGemm(const ConvGemmShape& shape, Precision precision, std::uint32_t items, const ConvGemmMemory& memory,
             const ConvGemmOptions& options = {});

    /// Enqueues the convolution; allocates nothing. An item's results do not depend on the others. Throws Error as
    /// check_cuda() when CUDA does not take it.
    void enqueue(cudaStream_t stream) const;

private:
    std::shared_ptr<const gemm::Work> work_;  // null for no items
};

}  // namespace sluice

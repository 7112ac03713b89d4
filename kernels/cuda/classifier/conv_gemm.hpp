#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/device/gpu_code.hpp"
#include "kernels/cuda/classifier/conv_gemm_shape.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice {

struct ConvGemmOptions {
    std::uint32_t lead_steps = 3;  ///< wgmma only: steps by which one of a block's two consumer warpgroups leads.
    bool chained = false;          ///< wgmma only: may start while the previous kernel in the stream ends.
    /// nullopt: the fastest that the current device and the build have.
    std::optional<MatrixInstructions> instructions{};
};

/// A convolution of `items` items at fixed addresses, on the tensor cores (not fp32) of the current device, by wgmma or
/// mma.sync: see MatrixInstructions.
///
/// Implicit GEMM: row p of the product's input is the window in[p … p + taps), never written to memory. Each input row
/// is copied once for all taps, in pieces of 128 bytes of channels, since a matrix in shared memory may begin at any
/// row; the weights in steps of 128 bytes of k. Rows run over all items; those whose window crosses an item's end are
/// dropped. With pooling, a thread has all three rows of one maximum. For tf32x3 see ConvParts.
///
/// By wgmma it is gemm/'s kernel with its own loader and epilogue; a block computes 192 rows by 256 outputs. By
/// mma.sync, a block computes 128 rows (96 with pooling) by 128 outputs, and two share a multiprocessor of compute
/// capability 8.0 or 9.0, so that one multiplies while the other waits or stores.
class ConvGemm {
public:
    /// Throws ContractViolation if the shape is not supported or the build has no code for the instructions, Error if
    /// CUDA fails.
    ConvGemm(const ConvGemmShape& shape, Precision precision, std::uint32_t items, const ConvGemmMemory& memory,
             const ConvGemmOptions& options = {});

    /// Enqueues the convolution; allocates nothing. An item's results do not depend on the others. Throws Error as
    /// check_cuda() if the launch fails.
    void enqueue(cudaStream_t stream) const;

private:
    std::shared_ptr<const gemm::Work> work_;  // null for no items
};

}  // namespace sluice

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/precision.hpp"

namespace sluice {

/// (items, length, channels) -> (items, positions / pool, outputs), channels-last, positions = length - taps + 1:
/// y[p][o] = bias[o] + sum over i and k of weights[o][i][k] * in[p + k][i]; then max(0, y) if relu; then the maximum of
/// each `pool` positions.
struct ConvGemmShape {
    std::uint32_t length;
    std::uint32_t channels;  ///< A multiple of 64.
    std::uint32_t outputs;   ///< A multiple of 256; at most 1024.
    std::uint32_t taps;      ///< At most 9, and 7 with pooling.
    bool relu = false;
    std::uint32_t pool = 1;  ///< 1 or 3; 3 divides length and positions.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
};

/// Weights as they come from PyTorch, (outputs, channels, taps), in the order and bits that the kernels read:
/// (outputs, taps, channels). For Precision::fp32: (taps, channels, outputs).
[[nodiscard]] std::vector<std::byte> pack_conv_weights(const ConvGemmShape& shape, Precision precision,
                                                       std::span<const float> weights);

/// Device memory of one convolution; not owned. All aligned to 128 bytes.
struct ConvGemmMemory {
    const void* in;       ///< (max_items, length, channels)
    const void* weights;  ///< pack_conv_weights()
    const float* bias;    ///< (outputs)
    void* out;            ///< (max_items, positions / pool, outputs)
};

struct ConvGemmOptions {
    std::uint32_t lead_steps = 3;  ///< By which one of a block's two warpgroups that multiply is ahead.
    bool chained = false;          ///< May start while the kernel before it in the stream ends.
};

/// One convolution on the tensor cores (bf16, tf32) of the current device at fixed places in memory.
///
/// The convolution is a matrix product whose row p is the window in[p … p + taps): no window is ever written down. A
/// block computes 192 rows by 256 outputs. It copies each row once for all taps, since a matrix in swizzled shared
/// memory may begin at any row, and the weights in steps of 128 bytes of k. Rows run over all items; those whose window
/// would cross an item's end are dropped. With pooling, rows 3 q, 3 q + 1 and 3 q + 2 are kept in three matrices, so
/// that a thread has all three of one maximum.
class ConvGemm {
public:
    /// Throws ContractViolation when the shape does not fit, Error when CUDA fails.
    ConvGemm(const ConvGemmShape& shape, Precision precision, std::uint32_t max_items, const ConvGemmMemory& memory,
             const ConvGemmOptions& options = {});

    /// Enqueues the convolution of the first `items` items, at most max_items; allocates nothing. Results do not depend
    /// on `items`. Throws Error (gpu_fault) when CUDA does not take it.
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

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// (items, positions, channels) -> (items, positions / 3, channels): the norm, ReLU and pooling of
/// ConvolutionKernels::norm_relu_pool. An item fits a block's registers: positions * channels <= 26,112.
struct NormPoolShape {
    static constexpr std::uint32_t pool = 3;

    std::uint32_t positions;    ///< A multiple of 3.
    std::uint32_t channels;     ///< A multiple of 8.
    std::uint32_t padding = 0;  ///< Trailing channels that are zero, also in gamma and beta, and not counted.
};

/// Packs (channels, positions), the order in files, as the kernel reads it: (positions, channels), fp16 for fp16 and
/// for bf16, which has three bits less, otherwise fp32. Throws Error (numeric) if a value does not fit fp16.
[[nodiscard]] std::vector<std::byte> pack_norm(const NormPoolShape& shape, Precision precision,
                                               std::span<const float> values);

/// Device memory; not owned. All aligned to 16 bytes. For tf32x3 the input is in two parts, the output fp32.
struct NormPoolMemory {
    const void* in;  ///< (items, positions, channels)
    const void* gamma;
    const void* beta;
    void* out;  ///< (items, positions / 3, channels)
};

class NormPool {
public:
    /// Throws ContractViolation if the shape is not supported.
    NormPool(const NormPoolShape& shape, Precision precision, const NormPoolMemory& memory);

    /// Enqueues the norm of the first `items` items; allocates nothing. Results do not depend on `items`.
    void enqueue(std::uint32_t items, cudaStream_t stream) const;

private:
    NormPoolShape shape_;
    Precision precision_;
    NormPoolMemory memory_;
    std::uint32_t multiprocessors_ = 0;
};

}  // namespace sluice

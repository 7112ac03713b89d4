#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// A convolution over one-hot columns, given as symbols, with its norm, ReLU and pooling: (items, length) uint8 ->
/// (items, positions / 3, channels), positions = length - 6; see ConvolutionKernels::symbol_conv_norm_relu_pool.
struct SymbolConvGpuShape {
    static constexpr std::uint32_t taps = 7;
    static constexpr std::uint32_t pool = 3;
    static constexpr std::uint32_t most_symbols = 71;

    std::uint32_t length;
    std::uint32_t symbols;      ///< Ids are 0 … symbols; `symbols` itself is the blank. At most most_symbols.
    std::uint32_t channels;     ///< A multiple of 128.
    std::uint32_t padding = 0;  ///< Trailing channels that are zero in all tensors; the norm does not count them.

    [[nodiscard]] constexpr std::uint32_t positions() const noexcept { return length - taps + 1; }
    [[nodiscard]] constexpr std::uint32_t pooled() const noexcept { return positions() / pool; }
};

/// A symbol convolution's weights in the kernels' layout, in host memory, to be copied unchanged.
struct SymbolConvTables {
    /// (slices, taps, most_symbols + 1, 256 bytes of channels): the weights, with the bias in tap 0 and zeros for the
    /// blank; fp16 for fp16 and for bf16, which has three bits less, otherwise fp32. A slice fits shared memory.
    std::vector<std::byte> table;
    std::vector<std::byte> gamma;  ///< (positions, channels), in the table's number format.
    std::vector<std::byte> beta;
    std::vector<float> inner;  ///< Statistics of symbols whose taps are all inside; see SymbolConvGpu.
    std::vector<float> ends;   ///< Statistics by tap, for the rest.
};

/// weights: (channels, symbols, taps), bias: (channels), gamma, beta: (channels, positions). Throws Error (numeric) if
/// a value does not fit fp16 where that is used.
[[nodiscard]] SymbolConvTables make_symbol_conv_tables(const SymbolConvGpuShape& shape, Precision precision,
                                                       std::span<const float> weights, std::span<const float> bias,
                                                       std::span<const float> gamma, std::span<const float> beta);

/// Device memory of one symbol convolution; not owned. All aligned to 128 bytes.
struct SymbolConvMemory {
    const std::uint8_t* symbols;  ///< (most_items, length); an id above `symbols` counts as some other id
    const void* table;
    const void* gamma;
    const void* beta;
    const float* inner;
    const float* ends;
    float2* scales;  ///< (most_items), written and read here: 1 / deviation, -mean / deviation
    void* out;       ///< (most_items, positions / 3, channels), in the precision
};

/// Two kernels. The first computes mean and variance from the symbols alone: with T[k][s] the table's row, the sum of
/// squares of y[p] = sum over k of T[k][in[p + k]] is a sum of dot products of table rows, of pairs of symbols at most
/// six apart. `inner` holds [0]: (72) dot products of a symbol with itself, summed over taps; then (72) sums; then [d -
/// 1][a][b], d = 1 … 6: (6, 72, 72) twice the dot products of T[k][a] and T[k + d][b], summed over k. `ends`: for each
/// of the 28 pairs (d, k) the same without the sum over k, then (7, 72) sums. All but the table look-ups is in double.
/// The second kernel adds up the rows from shared memory, normalises and pools; a thread keeps gamma and beta of its
/// positions in registers for many items. If shared memory is too small for that, the first kernel reads `inner`
/// through the caches, and a block of the second has half a slice.
class SymbolConvGpu {
public:
    /// `block_shared_bytes`: shared memory available to a block, at least 99 KiB. Throws ContractViolation if the shape
    /// is not supported, Error if CUDA fails.
    SymbolConvGpu(const SymbolConvGpuShape& shape, Precision precision, std::uint32_t most_items,
                  const SymbolConvMemory& memory, std::uint32_t block_shared_bytes);

    /// Enqueues the first kernel for the first `items` items, at most most_items; allocates nothing.
    void enqueue_statistics(std::uint32_t items, cudaStream_t stream) const;

    /// The same for the second, which reads the first one's output. Results do not depend on `items`.
    void enqueue_convolution(std::uint32_t items, cudaStream_t stream) const;

private:
    SymbolConvGpuShape shape_;
    Precision precision_;
    std::uint32_t most_items_;
    SymbolConvMemory memory_;
    std::uint32_t block_shared_bytes_;
    std::uint32_t multiprocessors_ = 0;
};

}  // namespace sluice

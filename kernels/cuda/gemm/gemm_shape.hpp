#pragma once

#include <cstdint>

namespace sluice {

enum class Activation : std::uint8_t {
    none,
    relu,
    gelu_tanh,  ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): GPT-2's.
    gelu_erf,   ///< 0.5 x (1 + erf(x / sqrt(2))).
    silu,       ///< x / (1 + e^-x); of gates only.
};

/// out[m][n] = activation(bias[n] + sum over k of a[m][k] * b[n][k]) + residual[m][n], a linear layer of weights b.
struct GemmShape {
    std::uint32_t rows;     ///< m; with 0 nothing is done.
    std::uint32_t columns;  ///< n, above 0.
    std::uint32_t depth;    ///< k, above 0.
    Activation activation = Activation::none;
    /// Of every 16 columns the first gate_columns are activated, and each is multiplied by the one gate_columns behind
    /// it: out is (rows, columns / 2). By wgmma only, of a multiple of 16 columns that can be
    /// copied, without a residual and sums of rows.
    bool gated = false;
};

inline constexpr std::uint32_t gate_columns = 8;

inline constexpr std::uint32_t summed_values = 64;

/// Sums of summed_values adjacent values of a row, and of their squares.
struct alignas(8) RowSums {  // loaded and stored whole
    float values;
    float squares;
};

/// Scales of rows, 1 / sqrt(variance + epsilon), from their RowSums: the variance is the mean of the squares minus the
/// square of the mean, or, if it `is_rms`, the mean of the squares. That difference loses less than rounding the values
/// to bf16 or fp16 does.
struct RowNorm {
    const RowSums* sums = nullptr;  ///< (rows, values / summed_values); null: no scales.
    float epsilon = 0;
    bool is_rms = false;
};

/// Device memory of one product; not owned. Rows follow each other without gaps. Values are aligned to their size.
struct GemmMemory {
    const void* a;         ///< (rows, depth)
    const void* b;         ///< (columns, depth)
    const float* bias;     ///< (columns); none if null.
    const void* residual;  ///< (rows, columns); none if null. May be `out`.
    void* out;             ///< (rows, columns), or if gated (rows, columns / 2)
    /// In device memory, read when the work runs: how many rows, from the first on, are computed. The rest of `out` is
    /// unspecified. Null: all.
    const std::uint32_t* active = nullptr;
    /// (rows): the sum over k of a[m][k] * b[n][k] is multiplied by row_scales[m], before the bias is added; null: by
    /// 1.
    const float* row_scales = nullptr;
    /// In place of row_scales: scales that the kernel computes from the sums of a's rows. By wgmma only; depth is a
    /// multiple of summed_values.
    RowNorm norm{};
    /// (rows, columns / summed_values): sums of `out` before it is rounded; null: not wanted. By wgmma only; columns is
    /// a multiple of summed_values.
    RowSums* out_sums = nullptr;
};

}  // namespace sluice

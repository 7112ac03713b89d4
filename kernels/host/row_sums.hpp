#pragma once

#include <cstddef>
#include <span>

namespace sluice {

// Sums in a fixed order on every CPU, not fused with products. NaN stays NaN.

/// out = (in - mean) / sqrt(variance + epsilon) * gamma + beta, all (width). Ba, Kiros, Hinton 2016.
void layer_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out);

/// The same with a mean of 0. Zhang, Sennrich 2019 (RMS normalisation, with a bias).
void rms_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out);

inline constexpr std::size_t dot_width = 16;

/// out[j] = sum over i < count of by[i] * columns[i][j], in that order; columns: (count, dot_width).
void dot_columns(std::size_t count, const float* by, const float* columns, float* out);

/// out[j] += by[0] * rows[0][j], then by[1] * rows[1][j], …; rows: (count, width).
void add_weighted_rows(std::size_t count, std::size_t width, const float* by, const float* rows, float* out);

/// dot_columns() and add_weighted_rows(), compiled for one instruction set; the norms have one build.
struct RowSumsBuild {
    void (*dot_columns)(std::size_t count, const float* by, const float* columns, float* out);
    void (*add_weighted_rows)(std::size_t count, std::size_t width, const float* by, const float* rows, float* out);
};

/// The builds that this CPU can run; the functions above use the first.
[[nodiscard]] std::span<const RowSumsBuild> row_sums_builds();

}  // namespace sluice

#pragma once

#include <cstddef>
#include <span>

namespace sluice {

// Sums in a fixed order, whatever the instructions; products are not fused with them. NaN stays NaN.

/// out = (in - mean) / sqrt(variance + epsilon) * gamma + beta, all (width). Ba, Kiros, Hinton 2016.
void layer_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out);

/// The same with a mean of 0. Zhang, Sennrich 2019 (RMS normalisation, with a bias).
void rms_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out);

inline constexpr std::size_t dot_width = 16;

/// out[j] = sum over i < count of by[i] * columns[i][j], in that order; columns: (count, dot_width).
void dot_columns(std::size_t count, const float* by, const float* columns, float* out);

/// out[j] += by[0] * rows[0][j], then by[1] * rows[1][j], …; rows: (count, width).
void add_weighted_rows(std::size_t count, std::size_t width, const float* by, const float* rows, float* out);

/// One build of all but the norms, which have one.
struct RowSumsBuild {
    void (*dot_columns)(std::size_t count, const float* by, const float* columns, float* out);
    void (*add_weighted_rows)(std::size_t count, std::size_t width, const float* by, const float* rows, float* out);
};

/// All that this CPU can run; the first is the one above.
[[nodiscard]] std::span<const RowSumsBuild> row_sums_builds();

}  // namespace sluice

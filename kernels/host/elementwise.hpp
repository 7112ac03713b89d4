#pragma once

#include <cstddef>
#include <span>

namespace sluice {

// Each value depends on its arguments alone, not on where it lies among others, nor on the instructions: nothing but
// additions, products and divisions in a fixed order, none of them fused. NaN stays NaN.

/// out[i] = e^in[i], within 2 units of the last place; below -87 as at -87, above 88 as at 88.
void exp_all(std::size_t count, const float* in, float* out);

/// h[j] = (1 - z) * n + z * h[j] with r = sigmoid(in[j] + own[j]), z = sigmoid(in[H + j] + own[H + j]) and
/// n = tanh(in[2 H + j] + r * own[2 H + j]); in, own: (3, H), h: (H).
void gru_gates(std::size_t hidden, const float* in, const float* own, float* h);

/// x[i] = x[i] / 2 * (1 + tanh(sqrt(2 / pi) * (x[i] + 0.044715 x[i]^3))). Hendrycks, Gimpel 2016.
void gelu_all(std::size_t count, float* x);

/// out = (in - mean) / sqrt(variance + epsilon) * gamma + beta, all (width). Ba, Kiros, Hinton 2016.
void layer_norm(std::size_t width, float epsilon, const float* gamma, const float* beta, const float* in, float* out);

inline constexpr std::size_t dot_width = 16;

/// out[j] = sum over i < count of by[i] * columns[i][j], in that order; columns: (count, dot_width).
void dot_columns(std::size_t count, const float* by, const float* columns, float* out);

/// out[j] += by[0] * rows[0][j], then by[1] * rows[1][j], …; rows: (count, width).
void add_weighted_rows(std::size_t count, std::size_t width, const float* by, const float* rows, float* out);
/// One build of all but layer_norm, which has one.
struct ElementwiseBuild {
    void (*exp_all)(std::size_t count, const float* in, float* out);
    void (*gru_gates)(std::size_t hidden, const float* in, const float* own, float* h);
    void (*gelu_all)(std::size_t count, float* x);
    void (*dot_columns)(std::size_t count, const float* by, const float* columns, float* out);
    void (*add_weighted_rows)(std::size_t count, std::size_t width, const float* by, const float* rows, float* out);
};

/// All that this CPU can run; the first is the one above.
[[nodiscard]] std::span<const ElementwiseBuild> elementwise_builds();

}  // namespace sluice

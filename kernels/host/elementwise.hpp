#pragma once

#include <cstddef>
#include <span>

namespace sluice {

// Each result depends on its arguments only, not on its index or the CPU's instructions: additions, products and
// divisions in a fixed order, never fused. NaN stays NaN.

/// out[i] = e^in[i], within 2 ulp; in[i] is clamped to [-87, 88].
void exp_all(std::size_t count, const float* in, float* out);

/// h[j] = (1 - z) * n + z * h[j] with r = sigmoid(in[j] + own[j]), z = sigmoid(in[H + j] + own[H + j]) and
/// n = tanh(in[2 H + j] + r * own[2 H + j]); in, own: (3, H), h: (H).
void gru_gates(std::size_t hidden, const float* in, const float* own, float* h);

/// x[i] = x[i] / 2 * (1 + tanh(sqrt(2 / pi) * (x[i] + 0.044715 x[i]^3))). Hendrycks, Gimpel 2016.
void gelu_all(std::size_t count, float* x);

/// x[i] = x[i] / 2 * (1 + erf(x[i] / sqrt(2))), within 2.5e-7 of |x[i]|. Abramowitz, Stegun 1964, formula 7.1.26.
void gelu_erf_all(std::size_t count, float* x);

/// x[i] = x[i] / (1 + e^-x[i]).
void silu_all(std::size_t count, float* x);

/// The functions above, compiled for one instruction set.
struct ElementwiseBuild {
    void (*exp_all)(std::size_t count, const float* in, float* out);
    void (*gru_gates)(std::size_t hidden, const float* in, const float* own, float* h);
    void (*gelu_all)(std::size_t count, float* x);
    void (*gelu_erf_all)(std::size_t count, float* x);
    void (*silu_all)(std::size_t count, float* x);
};

/// The builds that this CPU can run; the functions above use the first.
[[nodiscard]] std::span<const ElementwiseBuild> elementwise_builds();

}  // namespace sluice

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "kernels/cuda/gemm/gemm.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {

inline constexpr Precision of_two_bytes[] = {Precision::bf16, Precision::fp16};

/// Operands on the device, and what they are in fp32.
struct GemmOperands {
    GemmOperands(Precision precision, std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t seed)
        : a(rounded(precision, random_values(std::size_t{m} * k, 1.0F, seed))),
          b(rounded(precision, random_values(std::size_t{n} * k, 1.0F / std::sqrt(static_cast<float>(k)), seed + 1))),
          bias(random_values(n, 0.5F, seed + 2)),
          residual(rounded(precision, random_values(std::size_t{m} * n, 1.0F, seed + 3))),
          row_scales(random_values(m, 1.5F, seed + 4)),
          on_device{DeviceMemory(std::span<const std::byte>(encode(precision, a))),
                    DeviceMemory(std::span<const std::byte>(encode(precision, b))),
                    DeviceMemory(std::as_bytes(std::span(bias))),
                    DeviceMemory(std::span<const std::byte>(encode(precision, residual))),
                    DeviceMemory(std::as_bytes(std::span(row_scales)))} {}

    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> bias;
    std::vector<float> residual;
    std::vector<float> row_scales;
    std::array<DeviceMemory, 5> on_device;
};

enum class GemmExtras { none, bias, bias_and_residual, bias_and_scales };

inline double plain_activation(double x, Activation activation) {
    switch (activation) {
        case Activation::relu:
            return std::max(0.0, x);
        case Activation::gelu_tanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case Activation::gelu_erf:
            return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
        case Activation::silu:
            return x / (1 + std::exp(-x));
        case Activation::none:
            break;
    }
    return x;
}

inline std::vector<double> plain_product(const GemmShape& s, const GemmOperands& operands, GemmExtras extras) {
    std::vector<double> out(std::size_t{s.rows} * s.columns);
    for (std::size_t m = 0; m < s.rows; ++m) {
        for (std::size_t n = 0; n < s.columns; ++n) {
            double sum = 0;
            for (std::size_t k = 0; k < s.depth; ++k) {
                sum +=
                    static_cast<double>(operands.a[m * s.depth + k]) * static_cast<double>(operands.b[n * s.depth + k]);
            }
            sum *= extras == GemmExtras::bias_and_scales ? static_cast<double>(operands.row_scales[m]) : 1;
            sum += extras == GemmExtras::none ? 0 : static_cast<double>(operands.bias[n]);
            out[m * s.columns + n] = plain_activation(sum, s.activation);
            if (extras == GemmExtras::bias_and_residual) {
                out[m * s.columns + n] += static_cast<double>(operands.residual[m * s.columns + n]);
            }
        }
    }
    return out;
}

}  // namespace sluice

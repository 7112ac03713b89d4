#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/generator.hpp"

namespace sluice {

/// Chooses the next byte by its scores. Gives the same results on every machine.
class ByteDraw {
public:
    explicit ByteDraw(const Sampling& sampling) noexcept : sampling_(sampling) {}

    /// (gru_symbols) scores, copied.
    void look_at(const float* scores);

    /// `uniform` in [0, 1]; ignored if the temperature is 0.
    [[nodiscard]] std::uint8_t choose(float uniform) const;

    /// How close `uniform` is to another byte. NaN if a score is NaN or the largest is infinite.
    [[nodiscard]] TextDoubt doubt(float uniform) const;

    /// ln of softmax(scores) at `byte`.
    [[nodiscard]] double log_probability(std::uint8_t byte) const;

private:
    using Values = std::array<float, gru_symbols>;

    void keep_largest(Values& weights) const;
    [[nodiscard]] float gap() const;

    Sampling sampling_;
    Values scores_{};
    Values probabilities_{};  // unset for temperature 0
    std::uint8_t best_ = 0;   // the first of the largest scores
    std::uint8_t last_ = 0;   // last byte that may be chosen
    double log_sum_ = 0;      // ln of the sum of e^(score - best score)
};

/// Numbers in the order of the values, NaN included; both zeros are equal.
[[nodiscard]] inline std::uint32_t ordered_bits(float value) noexcept {
    constexpr std::uint32_t sign = 1U << 31U;
    const auto bits = std::bit_cast<std::uint32_t>(value == 0 ? 0.0F : value);
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

/// Index of the largest score, the first among equals; a NaN is never the largest. 0 if no score exceeds minus
/// infinity.
[[nodiscard]] std::size_t first_largest(std::span<const float> scores);

/// ln x for a finite x > 0, by additions, products and divisions only.
[[nodiscard]] double plain_log(double x);

}  // namespace sluice

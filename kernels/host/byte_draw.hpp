#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/generator.hpp"

namespace sluice {

/// Chooses the byte that follows from its scores. On every machine the same.
class ByteDraw {
public:
    explicit ByteDraw(const Sampling& sampling) noexcept : sampling_(sampling) {}

    /// (gru_symbols) scores, copied.
    void look_at(const float* scores);

    /// `uniform` in [0, 1]; not looked at where the temperature is 0.
    [[nodiscard]] std::uint8_t choose(float uniform) const;

    /// How close `uniform` is to another byte. Scores that are no numbers make it no number.
    [[nodiscard]] TextDoubt doubt(float uniform) const;

    /// Of `byte`, by softmax of the scores themselves.
    [[nodiscard]] double log_probability(std::uint8_t byte) const;

private:
    using Values = std::array<float, gru_symbols>;

    void keep_largest(Values& weights) const;
    [[nodiscard]] float gap() const;

    Sampling sampling_;
    Values scores_{};
    Values probabilities_{};  // but for temperature 0
    std::uint8_t best_ = 0;   // the first of the largest scores
    std::uint8_t last_ = 0;   // of those that may be chosen
    double log_sum_ = 0;      // of e^(score - best score)
};

/// The place of the largest score, of equal ones the first. A NaN is never it; where none is above minus infinity, it
/// is the first.
[[nodiscard]] std::size_t first_largest(std::span<const float> scores);

/// ln x, of a finite x > 0, by nothing but additions, products and divisions.
[[nodiscard]] double plain_log(double x);

}  // namespace sluice

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/host/norm.hpp"
#include "kernels/kernels.hpp"

namespace sluice {

/// Mean and variance of a symbol convolution's output, from the symbols alone, before the convolution runs. With
/// T[k][s] the table row of tap k and symbol s, y[p] = sum over k of T[k][in[p + k]], so that
///   sum of y   = sum over p and k of sum(T[k][in[p + k]]),
///   sum of y^2 = sum over p, k and j of dot(T[k][in[p + k]], T[j][in[p + j]]).
/// Regrouped by the distance d = j - k, a pair of symbols d apart costs one look-up where all k are inside, which is
/// everywhere but at the two ends. All in double: the variance's cancellation costs nothing that fp32 would notice.
class SymbolStatistics {
public:
    /// table: (taps, symbols + 1, channels), bias included in tap 0.
    SymbolStatistics(const SymbolConvShape& shape, std::span<const float> table);

    [[nodiscard]] NormScale of(const std::uint8_t* symbols) const;

private:
    [[nodiscard]] std::size_t pair(std::size_t distance, std::size_t tap) const noexcept {
        return (distance * shape_.taps + tap) * rows_ * rows_;
    }

    SymbolConvShape shape_;
    std::size_t rows_;          // symbols + 1
    std::vector<double> sums_;  // (taps, rows): sum(T[k][a])
    std::vector<double> sum_;   // (rows): over all taps
    std::vector<double>
        products_;                 // (taps, taps, rows, rows): [d][k][a][b] = dot(T[k][a], T[k + d][b]), twice if d > 0
    std::vector<double> product_;  // (taps, rows, rows): [d][a][b], over all k
};

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/host/norm.hpp"
#include "kernels/kernels.hpp"

namespace sluice {

/// Mean and variance of a symbol convolution's output, from the symbols only, before the convolution runs. With
/// T[k][s] the table row of tap k and symbol s, y[p] = sum over k of T[k][in[p + k]], so that
///   sum of y   = sum over p and k of sum(T[k][in[p + k]]),
///   sum of y^2 = sum over p, k and j of dot(T[k][in[p + k]], T[j][in[p + j]]).
/// Grouped by the distance d = j - k, a pair of symbols d apart costs one look-up if all k are inside, as everywhere
/// but at the two ends. All in double, so that the variance's cancellation does not show in fp32.
class SymbolStatistics {
public:
    /// (taps, symbols + 1, channels) fp32, bias included in tap 0.
    using MakeTable = std::function<std::vector<float>()>;

    /// Bytes of the values that a SymbolStatistics reads.
    [[nodiscard]] static std::size_t bytes(const SymbolConvShape& shape);

    /// Parts that together write these values. Each calls `table` for itself.
    [[nodiscard]] static std::vector<PackedWeights::Part> parts(const SymbolConvShape& shape, const MakeTable& table);

    /// `values` are not owned.
    SymbolStatistics(const SymbolConvShape& shape, const double* values) noexcept : shape_(shape), values_(values) {}

    [[nodiscard]] NormScale of(const std::uint8_t* symbols) const;

private:
    SymbolConvShape shape_;
    const double* values_;
};

}  // namespace sluice

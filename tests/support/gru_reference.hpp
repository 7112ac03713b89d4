#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/generator.hpp"

namespace sluice::test {

/// A text written by plain loops, in one precision throughout.
struct ReferenceText {
    std::string bytes{};
    double log_probability = 0;
    bool ended = false;   ///< By byte 0, before reaching max_length.
    double margin = 1e9;  ///< Smallest distance of a draw to another byte.
};

/// Follows the formulas of kernels/generator.hpp, without tables or batches, and shares no code with what it tests.
/// `uniform` returns the draw for byte i of the text.
template <class Real>
[[nodiscard]] ReferenceText write_reference(const GruShape& shape, const GruWeights& weights, const Sampling& sampling,
                                            const std::string& prefix,
                                            const std::function<float(std::uint32_t)>& uniform);

/// Log-likelihood of `text` and its end, in nats, by the same formulas.
[[nodiscard]] double reference_log_likelihood(const GruShape& shape, const GruWeights& weights, std::string_view text);

/// Softmax of scores / temperature over the top_k largest.
template <class Real>
[[nodiscard]] std::vector<Real> reference_probabilities(const std::vector<Real>& scores, const Sampling& sampling);

}  // namespace sluice::test

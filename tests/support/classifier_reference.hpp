#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::classifier {

/// The classifier written down once more, as plain loops over a dense one-hot input, in `Real` arithmetic. Shares
/// nothing with the app but the order of the weights: performance is none, clarity is all. symbols: (1014), 70 = no
/// symbol. Returns the four logits.
template <class Real>
[[nodiscard]] std::vector<Real> classifier_reference(std::span<const float> weights,
                                                     std::span<const std::uint8_t> symbols, std::size_t channels = 256,
                                                     std::size_t hidden = 1024);

extern template std::vector<float> classifier_reference<float>(std::span<const float>, std::span<const std::uint8_t>,
                                                               std::size_t, std::size_t);
extern template std::vector<double> classifier_reference<double>(std::span<const float>, std::span<const std::uint8_t>,
                                                                 std::size_t, std::size_t);

}  // namespace sluice::classifier

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/input/tensor_file.hpp"

namespace sluice {

/// The classifier's tensors, in the order of the raw file and of the weight blob. Convolutions are (out, in, tap),
/// linear layers (out, in), norms (channel, position). docs/classifier.md.
[[nodiscard]] std::span<const TensorSpec> classifier_tensors();

/// Floats of all tensors: 11,908,100.
[[nodiscard]] std::size_t classifier_weight_count();

/// The part of `weights`, laid out as classifier_tensors() says, that is tensor `name`.
[[nodiscard]] std::span<const float> classifier_tensor(std::span<const float> weights, std::string_view name);

/// Weights drawn from `seed`: the same bits everywhere, spread so that labels vary over text. `to` has room for
/// classifier_weight_count() floats.
void random_classifier_weights(std::uint64_t seed, std::span<float> to);

}  // namespace sluice

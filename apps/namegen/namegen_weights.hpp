#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/app.hpp"
#include "core/input/tensor_file.hpp"
#include "kernels/generator.hpp"

namespace sluice {

/// The sizes of the seed's model, which a headerless file has.
inline constexpr GruShape headerless_namegen{.embedding = 512, .hidden = 1024, .layers = 2};

/// The tensors of such a model under torch's names, in the order of the headerless file and of the blob.
[[nodiscard]] std::vector<TensorSpec> namegen_tensors(const GruShape& shape);

// The blob is the sizes, then namegen_tensors().

/// Sizes are what a safetensors file says. Throws Error as TensorReader.
[[nodiscard]] WeightBlob read_namegen_weights(const std::string& path);

/// The same on every machine; spread as torch does it, uniformly up to 1 / sqrt(hidden).
[[nodiscard]] WeightBlob random_namegen_weights(const GruShape& shape, std::uint64_t seed);

[[nodiscard]] GruShape shape_of_namegen(const WeightBlob& blob);

/// All of namegen_tensors(), one after the other.
[[nodiscard]] std::span<float> namegen_tensor_values(const WeightBlob& blob);

/// Views into the blob.
[[nodiscard]] GruWeights namegen_weights(const WeightBlob& blob);

}  // namespace sluice

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/app.hpp"
#include "core/weights/tensor_file.hpp"
#include "kernels/generator.hpp"

namespace sluice::namegen {

/// Sizes of the original model, which a headerless file has.
inline constexpr GruShape headerless_namegen{.embedding = 512, .hidden = 1024, .layers = 2};

/// Tensors of the model under PyTorch's names, in the order of the headerless file and of the blob.
[[nodiscard]] std::vector<TensorSpec> namegen_tensors(const GruShape& shape);

// The blob is the sizes, then namegen_tensors().

/// A safetensors file determines the sizes. Throws Error like TensorReader.
[[nodiscard]] WeightBlob read_namegen_weights(const std::filesystem::path& path);

/// Equal on every machine; uniform up to 1 / sqrt(hidden), like PyTorch's initialisation.
[[nodiscard]] WeightBlob random_namegen_weights(const GruShape& shape, std::uint64_t seed);

[[nodiscard]] GruShape shape_of_namegen(const WeightBlob& blob);

/// All of namegen_tensors(), contiguously.
[[nodiscard]] std::span<float> namegen_tensor_values(const WeightBlob& blob);

/// Views into the blob.
[[nodiscard]] GruWeights namegen_weights(const WeightBlob& blob);

}  // namespace sluice::namegen

#pragma once

#include <filesystem>
#include <span>

#include "core/input/tensor_file.hpp"

namespace sluice::test {

/// Writes `tensors` with their `values`, in order, as a safetensors file. Throws std::exception.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       std::span<const float> values);

}  // namespace sluice::test

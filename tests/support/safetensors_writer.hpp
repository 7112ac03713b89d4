#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "core/weights/tensor_file.hpp"

namespace sluice::test {

/// Writes `tensors` with their `values`, in order, as a safetensors file. Throws std::exception.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       std::span<const float> values, const std::map<std::string, std::string>& metadata = {});

/// The same with a type for each tensor, which has room for its values.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       std::span<const float> values, std::span<const FloatType> types);

}  // namespace sluice::test

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// A tensor that a model wants, fp32.
struct TensorSpec {
    std::string name;
    std::vector<std::uint64_t> shape;

    [[nodiscard]] std::uint64_t elements() const noexcept;
};

/// Reads exactly `wanted` (no tensor missing, none extra, right shapes, F32, all finite) from a safetensors file, one
/// after the other into `to`, whose size is the sum of their elements. Validates everything before it trusts anything:
/// docs/errors.md, E-MOD-*. Throws Error (no_input, bad_data, numeric).
void read_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> wanted, std::span<float> to);

/// The same from a headerless little-endian fp32 file that holds the tensors in the order of `wanted`.
void read_raw_f32(const std::filesystem::path& path, std::span<const TensorSpec> wanted, std::span<float> to);

/// Picks one of the two by what the file is: `.safetensors` by extension or by a plausible header, else raw.
void read_tensors(const std::filesystem::path& path, std::span<const TensorSpec> wanted, std::span<float> to);

}  // namespace sluice

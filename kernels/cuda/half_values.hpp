#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sluice {

/// fp16, rounded to nearest even. Throws Error (numeric), which names `what`, when a value is beyond 65504.
[[nodiscard]] std::vector<std::byte> encode_half(std::span<const float> values, const char* what);

/// (channels, positions) to (positions, channels).
[[nodiscard]] std::vector<float> positions_first(std::span<const float> values, std::size_t channels,
                                                 std::size_t positions);

}  // namespace sluice

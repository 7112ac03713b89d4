#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sluice {

/// fp16, rounded to nearest even. Throws Error (numeric), which names `what`, when a value is beyond 65504.
[[nodiscard]] std::vector<std::byte> encode_half(std::span<const float> values, const char* what);

/// A value in two parts of fp16: the value rounded to fp16, and the remainder times this, rounded to fp16; unscaled,
/// the remainders of small values, as weights are, would be subnormal. 22 bits, and 2^-36 for the smallest.
inline constexpr float half_rest_scale = 2048;

/// `values`, rows of `row`, in two parts: a row's first parts precede all its remainders. Throws as encode_half().
[[nodiscard]] std::vector<std::byte> encode_half_parts(std::span<const float> values, std::size_t row,
                                                       const char* what);

/// The reverse, exact up to fp32's rounding of the sum.
[[nodiscard]] std::vector<float> decode_half_parts(std::span<const std::byte> bytes, std::size_t row);

/// A value in fp16 and, for corrections of its products, two of e4m3: the value, and the remainder as above. The
/// product of two is that of their fp16, and of each one's e4m3 with the other's remainder: it errs about a thirtieth
/// of what fp16's alone does. e4m3 has four bits from 2^-6 to 448, and fewer below; what is larger is corrected in
/// part. Weights and their remainders are multiplied by this before they become e4m3: their four bits are those from
/// 2^-12 to 7.
inline constexpr float half_code_scale = 64;

/// Weights, rows of `row`: a row's fp16, in as many bytes its remainders, then its values in e4m3. Rows of activations
/// have these two in the other order, so that one sum over both is the correction. Throws as encode_half().
[[nodiscard]] std::vector<std::byte> encode_half_codes(std::span<const float> values, std::size_t row,
                                                       const char* what);

/// (channels, positions) to (positions, channels).
[[nodiscard]] std::vector<float> positions_first(std::span<const float> values, std::size_t channels,
                                                 std::size_t positions);

}  // namespace sluice

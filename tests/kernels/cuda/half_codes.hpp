#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/input/half.hpp"
#include "core/modes.hpp"
#include "kernels/cuda/primitives/half_values.hpp"
#include "tests/kernels/cuda/e4m3.hpp"
#include "tests/kernels/cuda/gpu.hpp"

/// Rows of activations in fp16x2: half_values.hpp has those of weights.
namespace sluice::test {

inline std::vector<std::byte> encode_code_rows(std::span<const float> values, std::size_t row) {
    std::vector<std::byte> bytes(4 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::byte* const to = &bytes[i / row * 4 * row];
        const std::size_t at = i % row;
        const std::uint16_t half = half_of(values[i]);
        std::memcpy(to + 2 * at, &half, sizeof half);
        to[2 * row + at] = e4m3_of(values[i]);
        to[3 * row + at] = e4m3_of((values[i] - float_of_half(half)) * half_rest_scale);
    }
    return bytes;
}

/// What fp16 and the remainders say.
inline std::vector<float> decode_code_rows(std::span<const std::byte> bytes, std::size_t row) {
    std::vector<float> values(bytes.size() / 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::byte* const from = &bytes[i / row * 4 * row];
        const std::size_t at = i % row;
        std::uint16_t half = 0;
        std::memcpy(&half, from + 2 * at, sizeof half);
        values[i] = float_of_half(half) + value_of_e4m3(from[3 * row + at]) / half_rest_scale;
    }
    return values;
}

/// The same of weights.
inline std::vector<float> decode_half_codes(std::span<const std::byte> bytes, std::size_t row) {
    std::vector<float> values(bytes.size() / 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::byte* const from = &bytes[i / row * 4 * row];
        const std::size_t at = i % row;
        std::uint16_t half = 0;
        std::memcpy(&half, from + 2 * at, sizeof half);
        values[i] = float_of_half(half) + value_of_e4m3(from[2 * row + at]) / (half_rest_scale * half_code_scale);
    }
    return values;
}

/// A left and a right factor of a product of the decoder.
inline std::vector<std::byte> encode_rows(Precision precision, std::span<const float> values, std::size_t row) {
    return precision == Precision::tf32x3   ? encode_half_parts(values, row, "rows")
           : precision == Precision::fp16x2 ? encode_code_rows(values, row)
                                            : encode(precision, values);
}
inline std::vector<std::byte> encode_weights(Precision precision, std::span<const float> values, std::size_t row) {
    return precision == Precision::tf32x3   ? encode_half_parts(values, row, "weights")
           : precision == Precision::fp16x2 ? encode_half_codes(values, row, "weights")
                                            : encode(precision, values);
}

/// Of what a decoder in `precision` leaves in rows, for products or not.
inline double tolerance_of_rows(Precision precision) {
    constexpr double of_codes = 8e-6;  // four bits of what fp16 leaves
    return precision == Precision::fp16x2 ? of_codes : tolerance(in_one_part(precision));
}

}  // namespace sluice::test

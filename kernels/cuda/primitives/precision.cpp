#include "kernels/cuda/primitives/precision.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"
#include "core/input/half.hpp"
#include "kernels/cuda/primitives/half_values.hpp"

namespace sluice {
namespace {

/// Drops the lowest `bits` of the mantissa, rounding to nearest even; NaN and infinity keep their kind. Without a
/// branch, so that loops are vectorised.
std::uint32_t rounded(float value, int bits) {
    constexpr std::uint32_t quiet = 0x00400000;
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t low = (1U << bits) - 1;
    const std::uint32_t nearest = word + (low >> 1) + ((word >> bits) & 1U);
    return (std::isnan(value) ? word | quiet : nearest) & ~low;
}

float tf32(float value) {
    return std::bit_cast<float>(rounded(value, 13));
}

/// (rows, row) to (rows, 2, row).
std::vector<float> split(std::span<const float> values, std::size_t row) {
    std::vector<float> parts(2 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        float* const to = &parts[i / row * 2 * row + i % row];
        to[0] = tf32(values[i]);
        to[row] = tf32(values[i] - to[0]);
    }
    return parts;
}

/// The reverse.
std::vector<float> joined(std::span<const float> parts, std::size_t row) {
    std::vector<float> values(parts.size() / 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float* const from = &parts[i / row * 2 * row + i % row];
        values[i] = from[0] + from[row];
    }
    return values;
}

}  // namespace

std::vector<std::byte> encode(Precision precision, std::span<const float> values, std::size_t row) {
    expects(values.size() % row == 0, "encode: values that are no whole rows");
    if (precision == Precision::tf32x3) {
        return encode(Precision::fp32, split(values, row));
    }
    if (precision == Precision::fp16) {
        return encode_half(values, "weights");
    }
    std::vector<std::byte> result(values.size() * element_bytes(precision));
    if (precision == Precision::bf16) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto half = static_cast<std::uint16_t>(rounded(values[i], 16) >> 16);
            std::memcpy(&result[i * sizeof half], &half, sizeof half);
        }
    } else {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::uint32_t word =
                precision == Precision::tf32 ? rounded(values[i], 13) : std::bit_cast<std::uint32_t>(values[i]);
            std::memcpy(&result[i * sizeof word], &word, sizeof word);
        }
    }
    return result;
}

std::vector<float> decode(Precision precision, std::span<const std::byte> bytes, std::size_t row) {
    expects(bytes.size() % (row * element_bytes(precision)) == 0, "decode: bytes that are no whole rows");
    if (precision == Precision::tf32x3) {
        return joined(decode(Precision::fp32, bytes), row);
    }
    std::vector<float> result(bytes.size() / element_bytes(precision));
    if (precision == Precision::fp16) {
        for (std::size_t i = 0; i < result.size(); ++i) {
            std::uint16_t half = 0;
            std::memcpy(&half, &bytes[i * sizeof half], sizeof half);
            result[i] = float_of_half(half);
        }
        return result;
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
        std::uint32_t word = 0;
        if (precision == Precision::bf16) {
            std::uint16_t half = 0;
            std::memcpy(&half, &bytes[i * sizeof half], sizeof half);
            word = std::uint32_t{half} << 16;
        } else {
            std::memcpy(&word, &bytes[i * sizeof word], sizeof word);
        }
        result[i] = std::bit_cast<float>(word);
    }
    return result;
}

}  // namespace sluice

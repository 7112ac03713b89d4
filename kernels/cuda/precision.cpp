#include "kernels/cuda/precision.hpp"

#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cuda/half_values.hpp"

namespace sluice {
namespace {

/// Drops the lowest `bits` of the mantissa, rounding to nearest even; NaN and infinity keep their kind.
std::uint32_t rounded(float value, int bits) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t low = (1U << bits) - 1;
    if (!std::isfinite(value)) {
        return std::isnan(value) ? (word | 0x00400000U) & ~low : word;
    }
    return (word + (low >> 1) + ((word >> bits) & 1U)) & ~low;
}

}  // namespace

std::vector<std::byte> encode(Precision precision, std::span<const float> values) {
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

std::vector<float> decode(Precision precision, std::span<const std::byte> bytes) {
    std::vector<float> result(bytes.size() / element_bytes(precision));
    if (precision == Precision::fp16) {
        for (std::size_t i = 0; i < result.size(); ++i) {
            __half half;
            std::memcpy(&half, &bytes[i * sizeof half], sizeof half);
            result[i] = __half2float(half);
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

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "kernels/decoder.hpp"

/// The codes of a quantised cache by plain formulas.
namespace sluice::test {

inline constexpr std::array quantised_kinds{KvCache::fp8, KvCache::int8};

inline double value_of_e4m3(std::uint8_t code) {
    const int exponent = code / 8 % 16;
    const int mantissa = code % 8;
    const double size = exponent == 15 && mantissa == 7 ? std::numeric_limits<double>::quiet_NaN()
                        : exponent == 0                 ? std::ldexp(mantissa, -9)
                                                        : std::ldexp(8 + mantissa, exponent - 10);
    return code < 128 ? size : -size;
}

/// To the nearest e4m3, halves to even, of up to 448.
inline double rounded_to_e4m3(double value) {
    const int exponent = value == 0 ? -6 : std::max(std::ilogb(value), -6);
    const double step = std::ldexp(1, exponent - 3);
    return std::nearbyint(value / step) * step;
}

inline double largest_of(std::span<const float> row) {
    double largest = 0;
    for (const float value : row) {
        largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    return largest;
}

/// A kind of codes, and the scales of rows.
class CacheCode {
public:
    explicit CacheCode(KvCache kind) : kind_(kind) {
        for (std::uint32_t code = 0; code < 255; ++code) {
            if (code != 127 && code != 128) {
                e4m3_[value_of_e4m3(static_cast<std::uint8_t>(code))] = static_cast<std::uint8_t>(code);
            }
        }
    }

    [[nodiscard]] KvCache kind() const { return kind_; }
    [[nodiscard]] bool is_fp8() const { return kind_ == KvCache::fp8; }
    [[nodiscard]] std::size_t scale_bytes() const { return is_fp8() ? 1 : 2; }
    /// Of a row's values from its largest, as a share of that.
    [[nodiscard]] double most_off() const {
        return is_fp8() ? 1.0 / 16    // half of a step of 32, beside 256 or more
                        : 1.0 / 252;  // half of a step, of which the largest has 126 or more
    }

    /// What a row's codes are multiplied by.
    [[nodiscard]] double scale_of(std::span<const float> row) const {
        const double largest = largest_of(row);
        double scale = std::ldexp(1, -126);
        if (is_fp8()) {
            while (448 * scale < largest) {
                scale *= 2;
            }
        } else if (largest > 127 * scale) {
            const double step = std::ldexp(1, std::ilogb(largest / 127) - 7);  // of bf16
            scale = std::ceil(largest / 127 / step) * step;
        }
        return scale;
    }

    /// What codes of a row say, without the scale.
    [[nodiscard]] std::vector<double> unscaled(std::span<const float> row) const {
        const double scale = scale_of(row);
        const auto inverse = static_cast<double>(static_cast<float>(1 / scale));  // decides between equally near ones
        std::vector<double> result;
        for (const float value : row) {
            const auto exact = static_cast<double>(value);
            result.push_back(is_fp8() ? rounded_to_e4m3(exact / scale) : std::nearbyint(exact * inverse));
        }
        return result;
    }

    /// What a row becomes in the cache.
    [[nodiscard]] std::vector<double> rounded_row(std::span<const float> row) const {
        std::vector<double> result = unscaled(row);
        for (double& value : result) {
            value *= scale_of(row);
        }
        return result;
    }

    [[nodiscard]] std::byte code_of(double unscaled) const {
        return std::byte{is_fp8() ? e4m3_.at(unscaled) : static_cast<std::uint8_t>(unscaled + 128)};
    }
    [[nodiscard]] double value_of(std::byte code) const {
        const auto number = static_cast<std::uint8_t>(code);
        return is_fp8() ? value_of_e4m3(number) : number - 128.0;
    }

    void write_scale(double scale, std::byte* to) const {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(scale));
        if (is_fp8()) {
            to[0] = static_cast<std::byte>(bits >> 23U);
        } else {
            to[0] = static_cast<std::byte>(bits >> 16U & 0xffU);
            to[1] = static_cast<std::byte>(bits >> 24U);
        }
    }
    [[nodiscard]] double read_scale(const std::byte* from) const {
        const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(from[i]); };
        const std::uint32_t bits = is_fp8() ? byte(0) << 23U : byte(0) << 16U | byte(1) << 24U;
        return static_cast<double>(std::bit_cast<float>(bits));
    }

    /// Everything that codes say.
    [[nodiscard]] std::vector<float> all_values() const {
        std::vector<float> values;
        for (std::uint32_t code = is_fp8() ? 0 : 1; code < 256; ++code) {
            if (const double value = value_of(static_cast<std::byte>(code)); !std::isnan(value)) {
                values.push_back(static_cast<float>(value));
            }
        }
        return values;
    }

private:
    KvCache kind_;
    std::map<double, std::uint8_t> e4m3_;
};

}  // namespace sluice::test

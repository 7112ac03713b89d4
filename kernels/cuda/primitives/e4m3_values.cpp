#include "kernels/cuda/primitives/e4m3_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"

namespace sluice {
namespace {

/// Without a branch, so that loops are vectorised.
std::uint8_t e4m3_of(float value) {
    constexpr int dropped = 20;  // bits of fp32's mantissa
    constexpr std::uint32_t less_bias = (127U - 7U) << 23U;
    constexpr float least_normal = 0x1p-6F;
    constexpr float unit_below = 0x1p-9F;  // of subnormal numbers
    constexpr float to_integer = 0x1p23F;  // added and taken away again, it rounds
    constexpr std::uint32_t nan = 0x7F;
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 31U << 7U;
    const float size = std::isnan(value) ? 0.0F : std::min(std::abs(value), largest_e4m3);
    const auto bits = std::bit_cast<std::uint32_t>(size);
    const std::uint32_t nearest = bits + ((1U << (dropped - 1)) - 1) + (bits >> dropped & 1U);
    const std::uint32_t normal = (nearest - less_bias) >> dropped;
    const auto subnormal = static_cast<std::uint32_t>((size / unit_below + to_integer) - to_integer);
    const std::uint32_t code = size < least_normal ? subnormal : normal;
    return static_cast<std::uint8_t>(sign | (std::isnan(value) ? nan : code));
}

}  // namespace

void encode_e4m3(std::span<const float> values, float scale, std::span<std::byte> to) {
    expects(to.size() == values.size(), "encode: a byte for each value");
    std::ranges::transform(values, to.begin(), [&](float value) { return std::byte{e4m3_of(value * scale)}; });
}

float e4m3_scale_for(double bound) {
    constexpr int most = 64;
    expects(bound >= 0 && std::isfinite(bound), "scale of e4m3: of a bound that is finite and not negative");
    int exponent = most;
    if (bound > 0) {
        exponent = std::min(static_cast<int>(std::floor(std::log2(double{largest_e4m3} / bound))), most);
        while (std::ldexp(bound, exponent) > double{largest_e4m3}) {  // the logarithm was rounded up
            --exponent;
        }
    }
    return std::ldexp(1.0F, exponent);
}

}  // namespace sluice

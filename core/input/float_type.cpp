#include "core/input/float_type.hpp"

#include <bit>
#include <cstring>

namespace sluice {

std::optional<FloatType> find_float_type(std::string_view name) {
    if (name == "F32") {
        return FloatType::f32;
    }
    if (name == "F16") {
        return FloatType::f16;
    }
    return name == "BF16" ? std::optional(FloatType::bf16) : std::nullopt;
}

float float_of_half(std::uint16_t half) noexcept {
    constexpr std::uint32_t rebias = 127 - 15;
    constexpr std::uint32_t special = 31;
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    const std::uint32_t exponent = (half >> 10U) & special;
    const std::uint32_t fraction = half & 0x3FFU;
    if (exponent == 0) {  // a multiple of 2^-24
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    const std::uint32_t wide = exponent == special ? 255 : exponent + rebias;
    return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

void widen(FloatType type, std::span<const std::byte> from, std::span<float> to) noexcept {
    if (type == FloatType::f32) {
        std::memmove(to.data(), from.data(), to.size_bytes());
        return;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
        to[i] = type == FloatType::f16 ? float_of_half(bits)
                                       : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
    }
}

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice {

/// How a floating-point number lies in a file, little endian.
enum class FloatType : std::uint8_t { f32, f16, bf16 };

/// Of its name in safetensors: "F32", "F16", "BF16".
[[nodiscard]] std::optional<FloatType> find_float_type(std::string_view name);

[[nodiscard]] constexpr std::size_t bytes_of(FloatType type) noexcept {
    return type == FloatType::f32 ? 4 : 2;
}

/// to.size() values of `from` as fp32, exactly. `from` may be the last bytes of `to`.
void widen(FloatType type, std::span<const std::byte> from, std::span<float> to) noexcept;

/// A little-endian integer in a file.
struct IntegerType {
    std::uint32_t bytes = 4;
    bool is_signed = true;
};

/// By NumPy's name: "<i4", "|u1", ….
[[nodiscard]] std::optional<IntegerType> find_integer_type(std::string_view name);

/// `from` has as many as `to`. What is beyond 2^63 - 1 becomes that.
void widen(IntegerType type, std::span<const std::byte> from, std::span<std::int64_t> to);

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice {

/// A little-endian integer in a file.
struct IntegerType {
    std::uint32_t bytes = 4;
    bool is_signed = true;
};

/// By NumPy's name: "<i4", "|u1", ….
[[nodiscard]] std::optional<IntegerType> integer_type_of(std::string_view descr);

/// `from` has as many as `to`. What is beyond 2^63 - 1 becomes that.
void widen_integers(IntegerType type, std::span<const std::byte> from, std::span<std::int64_t> to);

}  // namespace sluice

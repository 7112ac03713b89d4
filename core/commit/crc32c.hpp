#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// CRC-32C (Castagnoli) of `bytes`: polynomial 0x1EDC6F41, reflected, as in RFC 3720, appendix B.4.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace sluice

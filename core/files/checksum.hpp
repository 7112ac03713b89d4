#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace sluice {

/// XXH3-64 of `bytes`.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept;

/// XXH3-64 of bytes that arrive piece by piece.
class Checksum {
public:
    Checksum();

    void add(std::span<const std::byte> bytes);
    void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

    /// Checksum of everything so far; more may follow.
    [[nodiscard]] std::uint64_t value() const;

private:
    struct Release {
        void operator()(XXH3_state_s* state) const noexcept;
    };
    std::unique_ptr<XXH3_state_s, Release> state_;
};

/// XXH3-128 of `text`, 32 hexadecimal digits.
[[nodiscard]] std::string fingerprint_of(std::string_view text);

/// 16 hexadecimal digits, the form of checksums in files.
[[nodiscard]] std::string hexadecimal(std::uint64_t checksum);

/// CRC-32C (Castagnoli) of `bytes`: polynomial 0x1EDC6F41, reflected, as in RFC 3720, appendix B.4.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace sluice

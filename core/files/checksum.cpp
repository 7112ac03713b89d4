#include "core/files/checksum.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <new>

#include "core/error.hpp"

namespace sluice {
namespace {

using Table = std::array<std::uint32_t, 256>;

/// What a byte contributes to the remainder of the bytes before it.
constexpr Table make_table() {
    constexpr std::uint32_t reflected_polynomial = 0x82F63B78;
    Table table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? reflected_polynomial : 0);
        }
        table[byte] = remainder;
    }
    return table;
}

constexpr Table table = make_table();

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
    return XXH3_64bits(bytes.data(), bytes.size());
}

Checksum::Checksum() : state_(XXH3_createState()) {
    if (state_ == nullptr) {
        throw std::bad_alloc();
    }
    expects(XXH3_64bits_reset(state_.get()) == XXH_OK, "a checksum can be started");
}

void Checksum::Release::operator()(XXH3_state_s* state) const noexcept {
    XXH3_freeState(state);
}

void Checksum::add(std::span<const std::byte> bytes) {
    expects(bytes.empty() || XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()) == XXH_OK,
            "a checksum takes bytes");
}

std::uint64_t Checksum::value() const {
    return XXH3_64bits_digest(state_.get());
}

std::string fingerprint_of(std::string_view text) {
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string hexadecimal(std::uint64_t checksum) {
    return fmt::format("{:016x}", checksum);
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
    std::uint32_t remainder = ~std::uint32_t{0};
    for (const std::byte byte : bytes) {
        remainder = (remainder >> 8) ^ table[(remainder ^ static_cast<std::uint32_t>(byte)) & 0xFF];
    }
    return ~remainder;
}

}  // namespace sluice

#include "core/checksum.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <cstring>
#include <new>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t reflected_polynomial = 0x82F63B78;

using Table = std::array<std::uint32_t, 256>;

constexpr std::size_t step = 8;

/// tables[k][b]: what byte b contributes when k more bytes follow it.
constexpr std::array<Table, step> make_tables() {
    std::array<Table, step> tables{};
    for (std::uint32_t byte = 0; byte < tables[0].size(); ++byte) {
        std::uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? reflected_polynomial : 0);
        }
        tables[0][byte] = remainder;
    }
    for (std::size_t k = 1; k < step; ++k) {
        for (std::size_t byte = 0; byte < tables[0].size(); ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    }
    return tables;
}

constexpr std::array<Table, step> tables = make_tables();

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
    for (; bytes.size() >= step; bytes = bytes.subspan(step)) {
        std::array<std::uint8_t, step> eight;
        std::memcpy(eight.data(), bytes.data(), step);
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < step; ++i) {
            const std::uint32_t mixed = i < sizeof remainder ? (remainder >> (8 * i)) & 0xFF : 0;
            next ^= tables[step - 1 - i][eight[i] ^ mixed];
        }
        remainder = next;
    }
    for (const std::byte byte : bytes) {
        remainder = (remainder >> 8) ^ tables[0][(remainder ^ static_cast<std::uint32_t>(byte)) & 0xFF];
    }
    return ~remainder;
}

}  // namespace sluice

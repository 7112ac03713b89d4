#include "core/checksum.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

#include "core/error.hpp"

namespace sluice {

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

}  // namespace sluice

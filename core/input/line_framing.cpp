#include "core/input/line_framing.hpp"

#include <cstring>

namespace sluice {
namespace {

constexpr std::size_t block_bytes = 64;  // counted without a branch

/// Line feeds in a block. Each byte's zero test is the exact one of "Hacker's Delight", section 6-1, on the word with
/// line feeds turned to zero; written for words because the compiler makes vectors of it on any processor.
std::uint64_t count_line_feeds(const char* block) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t low_bits = 0x7f * ones;
    std::uint64_t counts = 0;  // eight, one a byte
    for (std::size_t at = 0; at < block_bytes; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, block + at, sizeof word);
        const std::uint64_t zeros = word ^ ('\n' * ones);
        counts += ~(((zeros & low_bits) + low_bits) | zeros | low_bits) >> 7;
    }
    return (counts * ones) >> 56;
}

}  // namespace

std::optional<Frame> LineFraming::find(std::string_view window, bool last) {
    const std::string_view rest = window.substr(scanned_);
    const void* hit = rest.empty() ? nullptr : std::memchr(rest.data(), '\n', rest.size());
    if (hit == nullptr) {
        scanned_ = last ? 0 : window.size();
        return last ? std::optional(Frame{window.size(), window.size(), 0}) : std::nullopt;
    }
    scanned_ = 0;
    const auto feed = static_cast<std::size_t>(static_cast<const char*>(hit) - window.data());
    const bool after_return = feed > 0 && window[feed - 1] == '\r';
    return Frame{after_return ? feed - 1 : feed, feed + 1, 1};
}

Skip LineFraming::skip(std::string_view window, std::uint64_t records) const {
    Skip passed{0, 0};
    std::size_t at = 0;
    for (; at + block_bytes <= window.size(); at += block_bytes) {
        const std::uint64_t found = count_line_feeds(window.data() + at);
        if (passed.records + found > records) {
            break;
        }
        passed.records += found;
    }
    passed.consumed = window.substr(0, at).rfind('\n') + 1;  // npos + 1 is 0
    while (passed.records < records) {
        const std::size_t feed = window.find('\n', passed.consumed);
        if (feed == std::string_view::npos) {
            break;
        }
        ++passed.records;
        passed.consumed = feed + 1;
    }
    return passed;
}

}  // namespace sluice

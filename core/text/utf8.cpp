#include "core/text/utf8.hpp"

namespace sluice {

Utf8Sequence utf8_sequence(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return {1, true};
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return {1, false};
    }
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;    // else it would be overlong
    unsigned char largest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;  // else a surrogate, or beyond U+10FFFF
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i >= text.size() || byte(i) < least || byte(i) > largest) {
            return {i, false};
        }
        least = 0x80;
        largest = 0xBF;
    }
    return {length, true};
}

}  // namespace sluice

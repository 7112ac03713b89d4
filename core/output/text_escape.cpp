#include "core/output/text_escape.hpp"

#include <array>
#include <cstring>

#include "core/text/utf8.hpp"

namespace sluice {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

using ByteSet = std::array<bool, 256>;

constexpr std::size_t ascii_end = 0x80;

/// The bytes from `begin` to `end` without `special`.
constexpr ByteSet bytes_but(std::string_view special, std::size_t begin, std::size_t end) {
    ByteSet plain{};
    for (std::size_t byte = begin; byte < end; ++byte) {
        plain[byte] = special.find(static_cast<char>(byte)) == std::string_view::npos;
    }
    return plain;
}

std::size_t leading(std::string_view text, const ByteSet& plain) noexcept {
    std::size_t length = 0;
    while (length < text.size() && plain[static_cast<unsigned char>(text[length])]) {
        ++length;
    }
    return length;
}

char* copy_to(std::string_view bytes, char* to) noexcept {
    if (!bytes.empty()) {
        std::memcpy(to, bytes.data(), bytes.size());
    }
    return to + bytes.size();
}

/// `plain` bytes, all of them ASCII, are copied; `escape` puts an ASCII character that is not plain.
template <class Escape>
char* put_text(std::string_view text, const ByteSet& plain, char* to, Escape escape) noexcept {
    for (;;) {
        const std::size_t length = leading(text, plain);
        to = copy_to(text.substr(0, length), to);
        text.remove_prefix(length);
        if (text.empty()) {
            return to;
        }
        const Utf8Sequence sequence = utf8_sequence(text, 0);
        if (static_cast<unsigned char>(text.front()) < 0x80) {
            to = escape(text.front(), to);
        } else {
            to = copy_to(sequence.is_well_formed ? text.substr(0, sequence.length) : replacement, to);
        }
        text.remove_prefix(sequence.length);
    }
}

/// The letter after the backslash; 0: has none.
constexpr char letter_of(char c) noexcept {
    switch (c) {
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case '"':
        case '\\':
            return c;
        default:
            return 0;
    }
}

}  // namespace

char* put_csv_text(std::string_view text, char* to) noexcept {
    static constexpr ByteSet unquoted = bytes_but(",\"\r\n", 0, 0x100);
    static constexpr ByteSet plain = bytes_but("\"", 0, ascii_end);
    const auto double_it = [](char, char* at) { return copy_to("\"\"", at); };
    if (!text.empty() && leading(text, unquoted) == text.size()) {
        return put_text(text, plain, to, double_it);
    }
    return copy_to("\"", put_text(text, plain, copy_to("\"", to), double_it));
}

char* put_json_text(std::string_view text, char* to) noexcept {
    static constexpr ByteSet plain = bytes_but("\"\\", 0x20, ascii_end);
    to = put_text(text, plain, copy_to("\"", to), [](char c, char* at) {
        constexpr std::string_view digits = "0123456789abcdef";
        const char letter = letter_of(c);
        at = copy_to(letter == 0 ? "\\u00" : "\\", at);
        *at++ = letter == 0 ? digits[static_cast<unsigned char>(c) >> 4U] : letter;
        return letter == 0 ? copy_to(digits.substr(static_cast<unsigned char>(c) & 15U, 1), at) : at;
    });
    return copy_to("\"", to);
}

char* put_line_text(std::string_view text, char* to) noexcept {
    static constexpr ByteSet plain = bytes_but("\n\r\\", 0, ascii_end);
    return put_text(text, plain, to, [](char c, char* at) {
        *at++ = '\\';
        *at++ = letter_of(c);
        return at;
    });
}

}  // namespace sluice

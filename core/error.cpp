#include "core/error.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace sluice {
namespace {

constexpr std::size_t longest_quote = 120;
constexpr std::size_t longest_line = 400;

/// Length of the well-formed UTF-8 sequence at text[at], 0 if there is none (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || at + length > text.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    if (length == 1) {
        return 1;
    }
    const unsigned char second = byte(1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool out_of_range = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    return overlong || out_of_range ? 0 : length;
}

bool is_control(std::string_view text, std::size_t at, std::size_t length) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const bool c0 = length == 1 && (lead < 0x20 || lead == 0x7F);
    const bool c1 = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    return c0 || c1;
}

/// Never longer than `limit`, never cut inside a character or an escape.
std::string escape_within(std::string_view text, std::size_t limit) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_length(text, at);
        std::string piece;
        if (length == 0 || is_control(text, at, length)) {
            for (std::size_t i = 0; i < (length == 0 ? 1 : length); ++i) {
                piece += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
            }
        } else {
            piece = text.substr(at, length);
        }
        if (out.size() + piece.size() > limit) {
            return out + "…";
        }
        out += piece;
        at += length == 0 ? 1 : length;
    }
    return out;
}

}  // namespace

Error::Error(ExitCode code, ErrorText text)
    : std::runtime_error(render(text)), code_(code), text_(std::move(text)) {}

std::string escaped(std::string_view text) {
    return escape_within(text, longest_quote);
}

std::string quoted(std::string_view text) {
    return "'" + escaped(text) + "'";
}

std::string render(const ErrorText& text) {
    const std::string where = text.where.empty() ? std::string() : text.where + ": ";
    std::string line = fmt::format("sluice: error[{}]: {}{}", text.id, where, text.what);
    line = escape_within(line, longest_line);
    return text.hint.empty() ? line : fmt::format("{}\n  hint: {}", line, text.hint);
}

}  // namespace sluice

#include "core/text/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text/utf8.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_quote = 200;

bool is_control(std::string_view text, std::size_t at, std::size_t length) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const bool c0 = length == 1 && (lead < 0x20 || lead == 0x7F);
    const bool c1 = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    return c0 || c1;
}

/// Bytes of the escape at text[at] that escaped() has made, "\x1b"; 0: none.
std::size_t escape_length(std::string_view text, std::size_t at) {
    constexpr std::string_view begin = "\\x";
    constexpr std::size_t length = 4;
    const auto is_digit = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    const std::string_view piece = text.substr(at, length);
    return piece.size() == length && piece.starts_with(begin) && is_digit(piece[2]) && is_digit(piece[3]) ? length : 0;
}

/// The character or escape at text[at], escaped if need be; `at` moves behind it.
std::string take_piece(std::string_view text, std::size_t& at) {
    if (const std::size_t length = escape_length(text, at); length != 0) {
        at += length;
        return std::string(text.substr(at - length, length));
    }
    const std::size_t length = utf8_length(text, at);
    const std::string_view taken = text.substr(at, length == 0 ? 1 : length);
    const bool shown = length > 0 && !is_control(text, at, length);
    at += taken.size();
    if (shown) {
        return std::string(taken);
    }
    std::string piece;
    for (const char byte : taken) {
        piece += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    return piece;
}

/// As much of the text's start as fits into `limit`, never cut inside a character or an escape; `end` is where it ends.
std::string escape_front(std::string_view text, std::size_t limit, std::size_t& end) {
    std::string out;
    end = 0;
    for (std::size_t next = 0; end < text.size(); end = next) {
        const std::string piece = take_piece(text, next);
        if (out.size() + piece.size() > limit) {
            break;
        }
        out += piece;
    }
    return out;
}

/// As much of the text's end as fits into `limit`.
std::string escape_back(std::string_view text, std::size_t limit) {
    std::size_t begin = text.size() - std::min(text.size(), limit);
    for (int i = 0; i < 3 && begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80; ++i) {
        ++begin;  // out of the character that is cut
    }
    while (true) {
        std::size_t end = 0;
        const std::string_view back = text.substr(begin);
        std::string out = escape_front(back, limit, end);
        if (end == back.size()) {
            return out;
        }
        take_piece(text, begin);
    }
}

}  // namespace

std::string escaped(std::string_view text) {
    std::size_t end = 0;
    std::string front = escape_front(text, longest_quote, end);
    if (end == text.size()) {
        return front;
    }
    return escaped_within(text, longest_quote / 2) + escape_back(text, longest_quote / 2);
}

std::string escaped_json(std::string_view json) {
    constexpr char before_controls = '\xC2';
    std::string text;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const auto next = at + 1 < json.size() ? static_cast<unsigned char>(json[at + 1]) : 0U;
        if (json[at] == before_controls && next >= 0x80 && next < 0xA0) {
            text += fmt::format("\\u{:04x}", next);
            ++at;
        } else if (json[at] == '\x7F') {
            text += "\\u007f";
        } else {
            text += json[at];
        }
    }
    return text;
}

std::string quoted(std::string_view text) {
    return fmt::format("'{}'", escaped(text));
}

std::string escaped_within(std::string_view text, std::size_t limit) {
    std::size_t end = 0;
    const std::string front = escape_front(text, limit, end);
    return end == text.size() ? front : front + "…";
}

}  // namespace sluice

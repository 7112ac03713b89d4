#include "core/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <system_error>

#include "core/utf8.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_quote = 120;
constexpr std::size_t longest_line = 400;
constexpr std::size_t longest_hint = 2000;
constexpr std::string_view requested_stop = "E-RUN-075";  // what somebody has asked for is no error

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

Error::Error(ExitCode code, ErrorText text) : std::runtime_error(render(text)), code_(code), text_(std::move(text)) {}

std::string escaped(std::string_view text) {
    return escape_within(text, longest_quote);
}

std::string quoted(std::string_view text) {
    return fmt::format("'{}'", escaped(text));
}

std::string system_text(int error) {
    return std::generic_category().message(error);
}

std::string render(const ErrorText& text) {
    const std::string where = text.where.empty() ? std::string() : text.where + ": ";
    const std::string_view kind = text.id.starts_with('W') ? "warning" : text.id == requested_stop ? "notice" : "error";
    std::string line = fmt::format("sluice: {}[{}]: {}{}", kind, text.id, where, text.what);
    line = escape_within(line, longest_line);
    return text.hint.empty() ? line : fmt::format("{}\n  hint: {}", line, escape_within(text.hint, longest_hint));
}

}  // namespace sluice

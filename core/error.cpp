#include "core/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <system_error>

namespace sluice {
namespace {

constexpr std::size_t longest_line = 400;
constexpr std::size_t longest_hint = 2000;
constexpr std::string_view requested_stop = "E-RUN-075";  // what somebody has asked for is no error

}  // namespace

Error::Error(ExitCode code, ErrorText text) : std::runtime_error(render(text)), code_(code), text_(std::move(text)) {}

std::string system_text(int error) {
    return std::generic_category().message(error);
}

std::string render(const ErrorText& text) {
    const std::string where = text.where.empty() ? std::string() : text.where + ": ";
    const std::string_view kind = text.id.starts_with('W') ? "warning" : text.id == requested_stop ? "notice" : "error";
    std::string line = fmt::format("sluice: {}[{}]: {}{}", kind, text.id, where, text.what);
    line = escaped_within(line, longest_line);
    return text.hint.empty() ? line : fmt::format("{}\n  hint: {}", line, escaped_within(text.hint, longest_hint));
}

}  // namespace sluice

#include "core/system/process_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "core/system/descriptor.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

constexpr std::size_t line_bytes = 2048;  // some 50 numbers and a name of 16 bytes

std::string_view take_word(std::string_view& text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace

std::optional<ProcessState> parse_process_state(std::string_view stat) noexcept {
    const std::size_t name_end = stat.rfind(')');  // the name before it may hold anything
    if (name_end == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view rest = stat.substr(name_end + 1);
    const std::string_view letter = take_word(rest);
    constexpr int fields_between = 18;  // between the state, field 3, and the start time, field 22
    for (int i = 0; i < fields_between; ++i) {
        take_word(rest);
    }
    const std::optional<std::uint64_t> start = parse_number<std::uint64_t>(take_word(rest));
    if (letter.size() != 1 || !start) {
        return std::nullopt;
    }
    return ProcessState{.letter = letter.front(), .start = *start};
}

std::optional<ProcessState> read_process_state(std::int64_t process) noexcept {
    std::array<char, 64> path{};
    *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", process).out = '\0';
    const Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, line_bytes> line{};
    const std::size_t length = file.read_at(0, std::as_writable_bytes(std::span(line))).bytes;
    return parse_process_state({line.data(), length});
}

}  // namespace sluice

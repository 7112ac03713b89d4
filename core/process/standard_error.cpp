#include "core/process/standard_error.hpp"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <span>
#include <string>

#include "core/system/descriptor.hpp"

namespace sluice {
namespace {

constexpr std::string_view clear = "\r\x1b[K";

std::mutex writing;
std::atomic<bool> line_is_shown{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

/// Where nobody reads it, nothing more can be said.
void write_text(std::string_view text) noexcept {
    write_all(STDERR_FILENO, std::as_bytes(std::span(text)));
}

}  // namespace

void say(std::string_view lines) noexcept {
    const std::lock_guard lock(writing);
    say_in_handler(lines);
}

void say(const ErrorText& text) {
    say(render(text) + "\n");
}

void say_in_handler(std::string_view lines) noexcept {
    if (line_is_shown.exchange(false)) {
        write_text(clear);
    }
    write_text(lines);
}

void show_line(std::string_view text) {
    const std::lock_guard lock(writing);
    line_is_shown = true;
    write_text(std::string(clear).append(text));
}

void clear_line() {
    say("");
}

}  // namespace sluice

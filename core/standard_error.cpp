#include "core/standard_error.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>

namespace sluice {
namespace {

constexpr std::string_view clear = "\r\x1b[K";

std::mutex writing;
std::atomic<bool> line_is_shown{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

void write_all(std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return;  // nobody reads it: nothing more can be said
        }
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
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
        write_all(clear);
    }
    write_all(lines);
}

void show_line(std::string_view text) {
    const std::lock_guard lock(writing);
    line_is_shown = true;
    write_all(std::string(clear).append(text));
}

void clear_line() {
    say("");
}

}  // namespace sluice

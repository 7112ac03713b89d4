#include "tools/runtime/progress_view.hpp"

#include <fmt/chrono.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ctime>

#include "core/standard_error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t fallback_columns = 80;

/// "2026-11-20 12:03:10 sluice: 812 of 2000 items …", in local time.
void say_with_time(const std::string& text) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    say(fmt::format("{:%Y-%m-%d %H:%M:%S} sluice: {}\n", local, text));
}

}  // namespace

ProgressView::ProgressView() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressView::~ProgressView() {
    if (terminal_) {
        clear_line();
    }
}

std::uint32_t ProgressView::columns() {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : fallback_columns;
}

void ProgressView::show(const std::string& text) {
    if (terminal_) {
        show_line(text.substr(0, columns()));
    } else {
        say_with_time(text);
    }
}

void ProgressView::say(const std::string& text) {
    if (terminal_) {
        sluice::say(text + "\n");
    } else {
        say_with_time(text);
    }
}

}  // namespace sluice

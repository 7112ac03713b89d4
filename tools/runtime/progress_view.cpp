#include "tools/runtime/progress_view.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/standard_error.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t fallback_columns = 80;

/// "2026-11-20 12:03:10 sluice: 812 of 2000 items …".
std::shared_ptr<spdlog::logger> make_log() {
    auto log = std::make_shared<spdlog::logger>("sluice", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log->set_pattern("%Y-%m-%d %H:%M:%S %n: %v");
    log->flush_on(spdlog::level::info);
    return log;
}

}  // namespace

ProgressView::ProgressView() : terminal_(isatty(STDERR_FILENO) == 1), log_(make_log()) {}

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
        log_->info(text);
    }
}

void ProgressView::say(const std::string& text) {
    if (terminal_) {
        sluice::say(text + "\n");
    } else {
        log_->info(text);
    }
}

}  // namespace sluice

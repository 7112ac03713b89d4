#include "tools/progress_view.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace sluice {
namespace {

constexpr std::uint32_t fallback_columns = 80;

/// A stderr that is full or closed does not change what the run is worth.
void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

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
        write("\r\x1b[K");
    }
}

std::uint32_t ProgressView::columns() {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : fallback_columns;
}

void ProgressView::show(const std::string& text) {
    if (terminal_) {
        write(fmt::format("\r\x1b[K{}", text.substr(0, columns())));
    } else {
        log_->info(text);
    }
}

void ProgressView::say(const std::string& text) {
    if (terminal_) {
        write(fmt::format("\r\x1b[K{}\n", text));
    } else {
        log_->info(text);
    }
}

}  // namespace sluice

#include "tools/runtime/progress.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include "core/process/standard_error.hpp"
#include "core/sync/stopped_before.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds bar_period{100};
constexpr std::array first_lines{2.0, 5.0, 10.0};  // seconds: early enough to show that it runs
constexpr double line_period = 30;
constexpr std::uint32_t fallback_columns = 80;

std::string clock_text(double seconds) {
    const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e9)));
    const std::uint64_t hours = whole / 3600;
    return hours == 0 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60);
}

/// ", 412 items/s, 0:03 left"; while the first chunk is computed, which may take long, ", 0:42 so far".
std::string pace_text(const ItemCount& items, Seconds since_start) {
    if (items.done <= items.before) {
        const bool is_for_long = since_start.count() >= first_lines.front() && items.done < items.total;
        return is_for_long ? fmt::format(", {} so far", clock_text(since_start.count())) : std::string();
    }
    if (since_start.count() <= 0) {
        return {};
    }
    const double rate = static_cast<double>(items.done - items.before) / since_start.count();
    return fmt::format(", {} items/s, {} left", rate_text(rate),
                       clock_text(static_cast<double>(items.total - items.done) / rate));
}

/// "2026-11-20 12:03:10 sluice: 812 of 2000 items …", in local time.
void say_with_time(const std::string& text) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    say(fmt::format("{:%Y-%m-%d %H:%M:%S} sluice: {}\n", local, text));
}

}  // namespace

std::string progress_text(const ItemCount& items, Seconds since_start) {
    return count_text(items, Percentage::shown) + pace_text(items, since_start);
}

std::string progress_bar(const ItemCount& items, Seconds since_start, std::uint32_t columns) {
    constexpr std::uint32_t longest_bar = 40;
    constexpr std::uint32_t frame = 3;  // "[", "]" and a space
    std::string text = progress_text(items, since_start);
    if (text.size() > columns) {
        const ItemCount in_all{.done = items.done, .total = items.total, .is_estimated = items.is_estimated};
        text = count_text(in_all, Percentage::shown) + pace_text(items, since_start);
    }
    if (text.size() + frame + 1 > columns) {
        return text.substr(0, columns);
    }
    const std::uint32_t cells = std::min(longest_bar, columns - frame - static_cast<std::uint32_t>(text.size()));
    const auto full = static_cast<std::uint32_t>(items.percent() / 100 * cells);
    return fmt::format("[{}{}] {}", std::string(full, '#'), std::string(cells - full, '.'), text);
}

Seconds next_line(Seconds passed) {
    for (const double line : first_lines) {
        if (passed.count() < line) {
            return Seconds(line);
        }
    }
    return Seconds(line_period * (std::floor(passed.count() / line_period) + 1));
}

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

Progress::Progress(std::function<ItemCount()> items)
    : items_(std::move(items)), thread_([this](const std::stop_token& stop) { show_until(stop); }) {}

void Progress::show_until(const std::stop_token& stop) {
    name_this_thread("progress");
    const Instant start = Clock::now();
    ProgressView view;
    const auto show = [&] {
        const ItemCount items = items_();
        const Seconds passed = Clock::now() - start;
        view.show(view.is_terminal() ? progress_bar(items, passed, ProgressView::columns())
                                     : progress_text(items, passed));
    };
    const auto next_look = [&] {
        const Instant now = Clock::now();
        return view.is_terminal() ? now + bar_period
                                  : start + std::chrono::duration_cast<Instant::duration>(next_line(now - start));
    };
    while (!stopped_before(stop, next_look())) {
        show();
    }
}

}  // namespace sluice

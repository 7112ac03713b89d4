#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "core/clock.hpp"
#include "core/text/wording.hpp"

namespace sluice {

/// A run's progress: "812 of 2000 items (40.6 %), 412 items/s, 0:03 left", including earlier attempts as in
/// count_text(); before the first chunk is done "0 of 2000 items (0.0 %), 0:42 so far". Pure.
[[nodiscard]] std::string progress_text(const ItemCount& items, Seconds since_start);

/// The same after a bar, at most `columns` wide; where there is no room, first without earlier attempts' share. Pure.
[[nodiscard]] std::string progress_bar(const ItemCount& items, Seconds since_start, std::uint32_t columns);

/// When the next log line is due, since the start or the last news: after 2, 5, 10 and 30 s, then every 30 s. Pure.
[[nodiscard]] Seconds next_line(Seconds passed);

/// Progress output on stderr: on a terminal one line that is rewritten, elsewhere log lines with date and time.
class ProgressView {
public:
    ProgressView();
    ~ProgressView();  ///< Clears the terminal's line.
    ProgressView(const ProgressView&) = delete;
    ProgressView& operator=(const ProgressView&) = delete;

    [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
    [[nodiscard]] static std::uint32_t columns();

    /// Replaces the terminal's line, or appends a log line.
    void show(const std::string& text);

    /// Prints permanently: above the terminal's line, or as show().
    void say(const std::string& text);

private:
    bool terminal_;
};

/// Shows progress on stderr from construction to destruction: a bar on a terminal, elsewhere lines (next_line()).
class Progress {
public:
    /// `items` is called from its own thread.
    explicit Progress(std::function<ItemCount()> items);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

private:
    void show_until(const std::stop_token& stop);

    std::function<ItemCount()> items_;
    std::jthread thread_;
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <string>

namespace sluice {

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

}  // namespace sluice

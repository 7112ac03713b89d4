#pragma once

#include <cstdint>
#include <string>

namespace sluice {

/// Where people look for progress, on stderr: on a terminal one line that is written anew, elsewhere lines of a log,
/// each with the time of day.
class ProgressView {
public:
    ProgressView();
    ~ProgressView();  ///< Clears the terminal's line.
    ProgressView(const ProgressView&) = delete;
    ProgressView& operator=(const ProgressView&) = delete;

    [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
    [[nodiscard]] static std::uint32_t columns();

    /// In place of the terminal's line, or one more line of the log.
    void show(const std::string& text);

    /// To stay: above the terminal's line, or as show().
    void say(const std::string& text);

private:
    bool terminal_;
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// What the process table tells about a process.
struct ProcessState {
    char letter = '?';        ///< 'R', 'S', 'Z', …: proc(5).
    std::uint64_t start = 0;  ///< In clock ticks since boot; distinguishes processes that reuse a number.

    /// A zombie is there until its parent has taken note of its end.
    [[nodiscard]] bool has_ended() const noexcept { return letter == 'Z' || letter == 'X'; }
};

/// Of the line in /proc/PID/stat; nullopt: it is none.
[[nodiscard]] std::optional<ProcessState> parse_process_state(std::string_view stat) noexcept;

/// nullopt: there is no such process, or it cannot be looked at. Allocates nothing.
[[nodiscard]] std::optional<ProcessState> read_process_state(std::int64_t process) noexcept;

}  // namespace sluice

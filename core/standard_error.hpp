#pragma once

#include <string_view>

#include "core/error.hpp"

namespace sluice {

// All that goes to stderr: lines that stay, and below them the one line of a terminal that is written anew, a progress
// bar. Threads take turns. A stderr that is full or closed changes nothing.

/// Whole lines, each with its newline. The terminal's line makes room for them until it is shown again.
void say(std::string_view lines) noexcept;

/// A message, as render() has it.
void say(const ErrorText& text);

/// The same from a signal handler, which waits for no turn.
void say_in_handler(std::string_view lines) noexcept;

/// Writes the terminal's line anew; `text` fits into it.
void show_line(std::string_view text);

/// Leaves it empty.
void clear_line();

}  // namespace sluice

#pragma once

#include <string_view>

#include "core/error.hpp"

namespace sluice {

// All output to stderr: permanent lines and, on a terminal, one line below them that is rewritten, the progress bar.
// Thread-safe. A full or closed stderr is ignored.

/// Prints whole lines, each with its newline. Hides the progress line until it is shown again.
void say(std::string_view lines) noexcept;

/// Prints render(text).
void say(const ErrorText& text);

/// say() for signal handlers; does not lock.
void say_in_handler(std::string_view lines) noexcept;

/// Replaces the progress line by `text`, which must fit into one line.
void show_line(std::string_view text);

/// Clears the progress line.
void clear_line();

}  // namespace sluice

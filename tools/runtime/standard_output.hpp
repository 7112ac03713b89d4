#pragma once

#include <optional>
#include <string_view>

#include "core/error.hpp"

namespace sluice {

/// Writes to stdout. After a failed write everything else is dropped, so that a reader gets a prefix without gaps.
void print(std::string_view text);

/// False once a write has failed or a pipe's reader has gone: further output is useless.
[[nodiscard]] bool is_stdout_of_use();

/// Why stdout was not written completely; nullopt: it was, or its reader has gone (`| head`), which is fine. Includes
/// errors that the file reports only when closed.
[[nodiscard]] std::optional<Error> failure_of_stdout();

}  // namespace sluice

#pragma once

#include <optional>
#include <string_view>

#include "core/error.hpp"

namespace sluice {

/// Writes to stdout. After a write that failed the rest is dropped: whoever reads gets a beginning, and no gap.
void print(std::string_view text);

/// False once a write has failed, or the reader of a pipe has gone away: more need not be printed.
[[nodiscard]] bool is_stdout_of_use();

/// What has kept stdout from being written as a whole; nullopt: nothing, or a reader that went away (`| head`), which
/// has what it wanted. The file behind stdout has said all that it had to say by then.
[[nodiscard]] std::optional<Error> failure_of_stdout();

}  // namespace sluice

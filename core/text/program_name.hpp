#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// What the user types to start this program: for usage, and for messages that name a command of it. "sluice" in a
/// process that was not named.
[[nodiscard]] const std::string& program_name() noexcept;

/// Names the program as `argv0` does, without its folders; empty: "sluice". Before other threads use the name.
void name_program(std::string_view argv0);

}  // namespace sluice

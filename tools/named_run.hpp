#pragma once

#include <string>

#include "core/commit/run_paths.hpp"
#include "tools/command_line.hpp"

namespace sluice {

/// The run that `name` names: its output, its own folder, the folder of parts, or its job file. Throws Error (no_input,
/// E-OUT-112) when no run lies there.
[[nodiscard]] RunPaths named_run(const std::string& name);

/// The one operand of commands about a run. Throws Error (usage).
[[nodiscard]] std::string run_operand(const Command& command, const ParsedArguments& parsed);

}  // namespace sluice

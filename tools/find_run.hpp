#pragma once

#include <string>

#include "core/commit/run_paths.hpp"
#include "tools/command_line.hpp"

namespace sluice {

/// The run that a user names by its own folder, its output, its job file, or its Slurm job's number. Throws Error
/// (no_input, E-RUN-116) when there is none.
[[nodiscard]] RunPaths named_run(const std::string& name);

/// The one operand of commands about a run. Throws Error (usage).
[[nodiscard]] std::string run_operand(const Command& command, const ParsedArguments& parsed);

}  // namespace sluice

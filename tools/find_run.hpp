#pragma once

#include <filesystem>
#include <string>

#include "tools/command_line.hpp"

namespace sluice {

/// The run's own folder for what a user names a run by: the folder, the output beside it, the job file, or a Slurm
/// job's number. Throws Error (no_input, E-SLM-116) when there is none.
[[nodiscard]] std::filesystem::path find_run_folder(const std::string& name);

/// The one operand of status, drain and cancel. Throws Error (usage).
[[nodiscard]] std::string run_name_of(const Command& command, const ParsedArguments& parsed);

}  // namespace sluice

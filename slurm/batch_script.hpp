#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "slurm/run_files.hpp"

namespace sluice {

/// Absolute paths in a job's script.
struct ScriptPaths : RunFiles {
    std::filesystem::path program{};  ///< sluice itself.
};

/// The paths for `job`, which has absolute paths, submitted by this program. Throws Error (configuration, E-SLM-112)
/// when one contains a character that Slurm's options cannot hold.
[[nodiscard]] ScriptPaths script_paths(const JobConfig& job);

/// sbatch's options, such as "--nodes=4", in script order. Throws Error (configuration) for a job that no script can
/// run.
[[nodiscard]] std::vector<std::string> sbatch_options(const JobConfig& job, const ScriptPaths& paths);

/// The whole script: constant except for the #SBATCH lines with sbatch_options().
[[nodiscard]] std::string batch_script(const JobConfig& job, const ScriptPaths& paths);

/// The script without #SBATCH lines.
[[nodiscard]] std::string_view batch_text();

/// Ranks per node.
[[nodiscard]] std::uint32_t ranks_per_node(const JobConfig& job);

}  // namespace sluice

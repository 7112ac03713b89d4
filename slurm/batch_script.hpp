#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"

namespace sluice {

/// Absolute paths in a job's script.
struct ScriptPaths {
    std::filesystem::path program{};     ///< sluice itself.
    std::filesystem::path run_folder{};  ///< Contains the other files.

    [[nodiscard]] std::filesystem::path plan() const { return run_folder / "plan.toml"; }
    [[nodiscard]] std::filesystem::path script() const { return run_folder / "script.sh"; }
    [[nodiscard]] std::filesystem::path logs() const { return run_folder / "logs"; }
    [[nodiscard]] std::filesystem::path submission() const { return run_folder / "submitted.json"; }
    [[nodiscard]] std::filesystem::path lock() const { return run_folder / "submit.lock"; }
    [[nodiscard]] std::filesystem::path status() const { return run_folder / "status.json"; }
    [[nodiscard]] std::filesystem::path drain_request() const { return run_folder / "drain"; }
    [[nodiscard]] std::filesystem::path retry_request() const { return run_folder / "retry"; }
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

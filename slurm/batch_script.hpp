#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"

namespace sluice {

/// The absolute paths that a job's script names.
struct ScriptPaths {
    std::filesystem::path program{};     ///< sluice itself.
    std::filesystem::path run_folder{};  ///< Holds the rest.

    [[nodiscard]] std::filesystem::path plan() const { return run_folder / "plan.toml"; }
    [[nodiscard]] std::filesystem::path script() const { return run_folder / "script.sh"; }
    [[nodiscard]] std::filesystem::path logs() const { return run_folder / "logs"; }
    [[nodiscard]] std::filesystem::path submission() const { return run_folder / "submitted.json"; }
    [[nodiscard]] std::filesystem::path status() const { return run_folder / "status.json"; }
    [[nodiscard]] std::filesystem::path drain_request() const { return run_folder / "drain"; }
    [[nodiscard]] std::filesystem::path retry_request() const { return run_folder / "retry"; }
};

/// The paths of `job`, whose own paths are absolute, submitted from this program. Throws Error (configuration,
/// E-SLM-112) when one holds a character that Slurm's options cannot.
[[nodiscard]] ScriptPaths script_paths(const JobConfig& job);

/// sbatch's options, "--nodes=4", in the order of the script. Throws Error (configuration) for a job of which no script
/// can be made.
[[nodiscard]] std::vector<std::string> sbatch_options(const JobConfig& job, const ScriptPaths& paths);

/// The whole script: constant but for the #SBATCH lines, which hold sbatch_options.
[[nodiscard]] std::string batch_script(const JobConfig& job, const ScriptPaths& paths);

/// The script without #SBATCH lines.
[[nodiscard]] std::string_view batch_text();

/// Ranks of a node.
[[nodiscard]] std::uint32_t ranks_per_node(const JobConfig& job);

}  // namespace sluice

#pragma once

#include <filesystem>
#include <string>

namespace sluice {

/// Files in a run's folder by which its attempts, its Slurm job and other commands communicate. RunPaths has those that
/// hold its results.
struct RunFiles {
    std::filesystem::path run_folder{};

    [[nodiscard]] std::filesystem::path status() const { return run_folder / "status.json"; }
    [[nodiscard]] std::filesystem::path submission() const { return run_folder / "submitted.json"; }
    [[nodiscard]] std::filesystem::path plan() const { return run_folder / "plan.toml"; }
    [[nodiscard]] std::filesystem::path script() const { return run_folder / "script.sh"; }
    [[nodiscard]] std::filesystem::path options() const { return run_folder / "options"; }  ///< Behind `--`.
    [[nodiscard]] std::filesystem::path logs() const { return run_folder / "logs"; }
    [[nodiscard]] std::filesystem::path log(const std::string& job) const { return logs() / (job + ".log"); }
    [[nodiscard]] std::filesystem::path lock() const { return run_folder / "submit.lock"; }  ///< While it is submitted.

    // Requests, made by creating an empty file.
    [[nodiscard]] std::filesystem::path drain_request() const { return run_folder / "drain"; }
    [[nodiscard]] std::filesystem::path retry_request() const { return run_folder / "retry"; }
};

}  // namespace sluice

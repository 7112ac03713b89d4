#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A job as identified by Slurm.
struct Submission {
    std::string job{};                   ///< Job id: digits.
    std::string cluster{};               ///< Empty if there is only one.
    std::vector<std::string> earlier{};  ///< Jobs that it continues, oldest first.
    std::optional<std::string> log{};    ///< What it prints, if that is not RunFiles::log(); empty: unknown.

    friend bool operator==(const Submission&, const Submission&) = default;
};

/// Parses "4711" or "4711;cluster", as printed by sbatch --parsable. nullopt: anything else.
[[nodiscard]] std::optional<Submission> parse_submission(std::string_view text);

/// Reads what submit() has stored in `file`; nullopt: missing or invalid.
[[nodiscard]] std::optional<Submission> read_submission(const std::filesystem::path& file);
void write_submission(const std::filesystem::path& file, const Submission& submission);

/// Records in `file` that `next` continues `job`, which the file names unless it was removed.
void write_follower(const std::filesystem::path& file, const std::string& job, Submission next);

}  // namespace sluice

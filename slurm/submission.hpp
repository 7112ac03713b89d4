#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A job as Slurm knows it.
struct Submission {
    std::string job{};                   ///< Its id: digits.
    std::string cluster{};               ///< Empty where there is one.
    std::vector<std::string> earlier{};  ///< Jobs that it follows, the first one first.

    friend bool operator==(const Submission&, const Submission&) = default;
};

/// "4711" or "4711;cluster", as sbatch --parsable prints it. nullopt: something else.
[[nodiscard]] std::optional<Submission> parse_submission(std::string_view text);

/// What submit has noted in `file`; nullopt: nothing, or no longer legible.
[[nodiscard]] std::optional<Submission> read_submission(const std::filesystem::path& file);
void write_submission(const std::filesystem::path& file, const Submission& submission);

/// Notes in `file` that `next` continues where `job` ends, which the file names unless somebody has removed it.
void write_follower(const std::filesystem::path& file, const std::string& job, Submission next);

}  // namespace sluice

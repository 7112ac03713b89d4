#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// A job as Slurm knows it.
struct Submission {
    std::string job{};      ///< Its id: digits.
    std::string cluster{};  ///< Empty where there is one.

    friend bool operator==(const Submission&, const Submission&) = default;
};

/// "4711" or "4711;cluster", as sbatch --parsable prints it. nullopt: something else.
[[nodiscard]] std::optional<Submission> parse_submission(std::string_view text);

/// What submit has noted in `file`; nullopt: nothing, or no longer legible.
[[nodiscard]] std::optional<Submission> read_submission(const std::filesystem::path& file);
void write_submission(const std::filesystem::path& file, const Submission& submission);

}  // namespace sluice

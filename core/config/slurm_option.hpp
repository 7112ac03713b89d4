#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The options of sbatch that slurm.skip may name: all that sluice passes, but --export, which the job cannot do
/// without.
inline constexpr std::array<std::string_view, 24> skippable_options{
    "account",       "comment",  "constraint", "cpus-per-task", "exclude",   "exclusive",
    "gpus-per-node", "gres",     "job-name",   "mail-type",     "mail-user", "mem",
    "no-requeue",    "nodelist", "nodes",      "open-mode",     "output",    "ntasks-per-node",
    "partition",     "qos",      "requeue",    "reservation",   "signal",    "time"};

enum class OptionOrigin : std::uint8_t {
    job_file,      ///< slurm.extra: keys say what they say.
    command_line,  ///< May set anew what keys have set, but for what the job cannot do without.
};

/// What is wrong with `option` as one more option for sbatch, as in slurm.extra: "got …, expected …". Empty: nothing.
/// It has to be a long one, "--switches=1@00:30:00", of printable ASCII, and none that sluice sets itself or that
/// stands for one: sbatch takes the beginning of a name for the name.
[[nodiscard]] std::string problem_with_option(std::string_view option, OptionOrigin origin = OptionOrigin::job_file);

/// The names of sbatch's options that the command line may not set, in the order of the alphabet: docs/slurm.md lists
/// them. slurm.extra may not set these, skippable_options and the dependencies of a submission.
[[nodiscard]] std::vector<std::string_view> kept_options();

/// "04:00:00", "1-12:00:00", "240s", "90m", "4h" or "2d", at most 365 days. nullopt: none of these.
[[nodiscard]] std::optional<std::chrono::seconds> parse_duration(std::string_view text);

/// "04:00:00" or "1-12:00:00".
[[nodiscard]] std::string duration_text(std::chrono::seconds duration);

}  // namespace sluice

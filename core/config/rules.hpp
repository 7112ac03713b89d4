#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/config/config.hpp"
#include "core/config/schema.hpp"

namespace sluice {

/// A key that the job sets, its value within the key's own limits.
struct Setting {
    SettingValue value;  ///< A path as the job says it.
    std::string where;   ///< "job.toml:14:3" or "--set pipeline.depth=4"; escaped.
    bool from_command_line = false;
};

using Settings = std::map<std::string, Setting, std::less<>>;  ///< By the keys' full names.

/// Where a job's text came from.
struct JobOrigin {
    std::string name;            ///< For messages; escaped.
    std::filesystem::path base;  ///< Relative paths start here.
    std::filesystem::path file;  ///< The job file, which no output may replace; may be empty.
};

/// What a job says, key by key.
struct StatedJob {
    const Settings& settings;
    const JobSchema& schema;
    const JobOrigin& origin;

    /// Null when it is not set.
    [[nodiscard]] const Setting* find(std::string_view full_name) const;

    /// Where the key is set, the job file when it is not.
    [[nodiscard]] const std::string& where(std::string_view full_name) const;

    /// Throws Error (configuration) when the job does not set this required key.
    void require(std::string_view full_name, std::string hint = {}) const;

    /// Throws Error (configuration): the key does not go together with another one.
    [[noreturn]] void refuse_pair(std::string_view full_name, std::string_view what, std::string hint = {}) const;
};

/// `value` with paths and patterns that start in `base` if they are relative.
[[nodiscard]] SettingValue resolved(const SettingValue& value, const std::filesystem::path& base);

/// Throws Error (configuration) for an unknown app, which the job names at `where`.
void check_app(const std::string& app, const std::string& where, std::span<const AppKeys> apps);

/// Puts single settings together: required keys, defaults, and the rules that concern more than one key. Throws Error
/// (configuration, refused).
[[nodiscard]] JobConfig build_job(const StatedJob& stated, std::span<const AppKeys> apps);

/// The rules of [input] and [output], and what these keys are by default. Throw Error (configuration).
void complete_input(JobConfig::Input& input, const StatedJob& stated);
void complete_output(JobConfig::Output& output, const StatedJob& stated);

/// The rules of [slurm]. Throws Error (configuration).
void check_slurm(const SlurmConfig& slurm, const StatedJob& stated);

}  // namespace sluice

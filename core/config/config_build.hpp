#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/config/config.hpp"
#include "core/config/config_settings.hpp"

namespace sluice {

/// Where a job's text came from.
struct JobOrigin {
    std::string name;            ///< For messages; escaped.
    std::filesystem::path base;  ///< Relative paths start here.
    std::filesystem::path file;  ///< The job file, which no output may replace; may be empty.
};

/// Puts single settings together: required keys, defaults, and the rules that concern more than one key. Throws Error
/// (configuration, refused).
[[nodiscard]] JobConfig build_job(const Settings& settings, const JobOrigin& origin,
                                  std::span<const std::string_view> apps);

}  // namespace sluice

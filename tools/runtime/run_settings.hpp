#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/config/config.hpp"
#include "tools/runtime/job_plan.hpp"

namespace sluice {

/// Settings of a run's identity (RunIdentity::settings).
using RunSettings = std::vector<std::pair<std::string, std::string>>;

// Names of some of them.
inline constexpr const char* input_setting = "input";
inline constexpr const char* count_setting = "input.count";
inline constexpr const char* device_setting = "run.device";
inline constexpr const char* instructions_setting = "run.instructions";
inline constexpr const char* gpu_setting = "run.gpu";

/// How items are found in the input.
[[nodiscard]] RunSettings settings_of_input(const JobConfig& job);

/// Everything that determines the output's bytes, except its format. Paths, ranks, nodes, devices and anything else
/// that only affects speed are excluded.
[[nodiscard]] RunSettings settings_of(const PreparedJob& prepared);

}  // namespace sluice

#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runtime/job_file.hpp"

namespace sluice {

// Options common to several commands: their values, and what --json prints.

/// The values of --set, in order. Throws Error (usage).
[[nodiscard]] std::vector<Override> overrides_of(const ParsedArguments& parsed);

/// The value of the option `name`, a number from 1 to `most`, if given. Throws Error (usage).
[[nodiscard]] std::optional<std::uint32_t> count_option(const ParsedArguments& parsed, const char* name,
                                                        std::uint32_t most);

/// The plain path of the plan. Throws Error (usage) without --plan, or where that is not in a run's folder.
[[nodiscard]] std::filesystem::path plan_of(const ParsedArguments& parsed);

/// The job file that the operand names, with --set. Throws Error (usage) without an operand.
[[nodiscard]] JobFile job_file_of(const ParsedArguments& parsed);

/// Its job; nullopt with neither operand nor --set. Throws Error.
[[nodiscard]] std::optional<JobConfig> job_of(const ParsedArguments& parsed);

/// The operand, which is `what`: a "job file" or a "run". Throws Error (usage) without one.
[[nodiscard]] std::string operand_of(const ParsedArguments& parsed, std::string_view what);

/// What --json prints: an object, or a list, on lines of its own. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

}  // namespace sluice

#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

// Options common to several commands, and their values.

using Options = boost::program_options::options_description;

[[nodiscard]] Options no_options();

/// --set, repeatable; `example` is a KEY=VALUE for the command.
void add_set_option(Options& options, std::string_view example);

/// The values of --set, in order. Throws Error (usage).
[[nodiscard]] std::vector<Override> overrides_of(const ParsedArguments& parsed);

/// --json, for output as a JSON object.
void add_json_option(Options& options);

/// --quiet, --table, --no-progress, --time-left and --retry: options of a run, independent of its job.
void add_run_options(Options& options);

/// Values of these options, or defaults. Throws Error (usage).
[[nodiscard]] RunOptions run_options_of(const ParsedArguments& parsed);

/// --plan; `whose` describes the plan in the help.
void add_plan_option(Options& options, const char* whose);

/// Throws Error (usage) without --plan.
[[nodiscard]] std::string plan_of(const ParsedArguments& parsed);

/// The operand of commands on a run. Throws Error (usage).
[[nodiscard]] std::string run_operand(const ParsedArguments& parsed);

}  // namespace sluice

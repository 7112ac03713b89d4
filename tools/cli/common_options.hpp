#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runtime/run_job.hpp"

namespace sluice {

// Options that several commands take, and what the user said with them.

using Options = boost::program_options::options_description;

[[nodiscard]] Options no_options();

/// --set, again and again; `example` is a KEY=VALUE that suits the command.
void add_set_option(Options& options, std::string_view example);

/// The values of --set, in order. Throws Error (usage).
[[nodiscard]] std::vector<Override> overrides_of(const ParsedArguments& parsed);

/// --json, for an object.
void add_json_option(Options& options);

/// --quiet, --table, --no-progress, --time-left and --retry: how a run goes, whatever its job.
void add_run_options(Options& options);

/// What the user said with them; the rest as by default. Throws Error (usage).
[[nodiscard]] RunOptions run_options_of(const Command& command, const ParsedArguments& parsed);

/// --plan, which is the plan of what `whose` says.
void add_plan_option(Options& options, const char* whose);

/// Throws Error (usage) without --plan.
[[nodiscard]] std::string plan_of(const Command& command, const ParsedArguments& parsed);

/// The one operand of commands about a run. Throws Error (usage).
[[nodiscard]] std::string run_operand(const Command& command, const ParsedArguments& parsed);

}  // namespace sluice

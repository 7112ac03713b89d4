#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/app.hpp"

namespace sluice {

using Options = boost::program_options::options_description;
using Arguments = std::span<const std::string>;

struct ParsedArguments;

/// A subcommand: its help texts, in which "{program}" stands for the program's name, and its function.
struct Command {
    std::string_view name;
    std::string_view synopsis;    ///< What follows its name: "JOB.toml [OPTION]..."
    std::string_view summary;     ///< Its line in the list of commands.
    std::string_view details;     ///< A paragraph or two; may be empty.
    std::string_view exit_codes;  ///< The relevant ones, one line each.
    std::string_view example;
    const char* set_example = nullptr;        ///< Takes --set, repeatable: a KEY=VALUE for its help.
    const char* plan = nullptr;               ///< Takes --plan: whose plan, for its help.
    bool json = false;                        ///< Takes --json, for output as a JSON object.
    void (*own_options)(Options&) = nullptr;  ///< Adds those that no other command has.
    std::size_t most_operands;                ///< Most non-option arguments.
    int (*run)(const ParsedArguments&);
    bool internal = false;       ///< For sluice's own scripts: not in the list of commands.
    bool for_ranks = false;      ///< Launchers start several of it.
    bool for_sbatch = false;     ///< Words after "--" are sbatch's.
    bool writes_output = false;  ///< Its results are in files: failing to write stdout is only a warning.
};

/// --set, repeatable; `example` is a KEY=VALUE for its help. For commands whose own options come before it.
void add_set_option(Options& options, std::string_view example);

/// All subcommands, in help order.
[[nodiscard]] std::span<const Command> commands();

extern const Command run_command;          // cmd_run.cpp
extern const Command resume_command;       // cmd_run.cpp
extern const Command verify_command;       // cmd_verify.cpp
extern const Command diff_command;         // cmd_diff.cpp
extern const Command scale_command;        // cmd_scale.cpp
extern const Command check_command;        // cmd_check.cpp
extern const Command apps_command;         // cmd_apps.cpp
extern const Command topo_command;         // cmd_topo.cpp
extern const Command doctor_command;       // cmd_doctor.cpp
extern const Command script_command;       // cmd_submit.cpp
extern const Command submit_command;       // cmd_submit.cpp
extern const Command status_command;       // cmd_status.cpp
extern const Command drain_command;        // cmd_drain.cpp
extern const Command cancel_command;       // cmd_drain.cpp
extern const Command exec_command;         // cmd_run.cpp
extern const Command follow_command;       // cmd_stop_reason.cpp
extern const Command stop_reason_command;  // cmd_stop_reason.cpp
extern const Command ladder_command;       // cmd_ladder.cpp
extern const Command help_command;         // cmd_help.cpp
extern const Command completion_command;   // cmd_completion.cpp
extern const Command version_command;      // cmd_version.cpp

/// Runs the subcommand named first in `arguments` (without the program's name). Returns the exit code; reports a
/// failure to write stdout and includes it in the code. Throws Error.
[[nodiscard]] int run_command_line(Arguments arguments, const Apps& apps);

/// Whether launchers start several of the subcommand named first in `arguments`.
[[nodiscard]] bool is_for_ranks(Arguments arguments);

/// The parsed words after the subcommand's name.
struct ParsedArguments {
    const Command& command;
    const Apps& apps;  ///< Of the program.
    boost::program_options::variables_map options{};
    std::vector<std::string> operands{};
    std::vector<std::string> after_dashes{};  ///< The words after "--", for commands with `for_sbatch`.

    [[nodiscard]] bool has(const char* option) const { return options.count(option) != 0; }
};

/// Throws Error (usage) for an invalid command line.
[[noreturn]] void refuse_usage(const Command& command, std::string what);

/// An option as on a command line: "--set".
struct OptionName {
    std::string name;
    bool takes_value = false;
};

/// All options of `command` but --help, in the order of its help.
[[nodiscard]] std::vector<OptionName> option_names(const Command& command);

/// `sluice COMMAND --help`, and `sluice --help`.
[[nodiscard]] std::string help_of(const Command& command);
[[nodiscard]] std::string general_help(const Apps& apps);

}  // namespace sluice

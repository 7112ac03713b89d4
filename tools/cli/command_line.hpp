#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/app.hpp"

namespace sluice {

using Arguments = std::span<const std::string>;

/// What a subcommand is called with.
struct Invocation {
    Arguments arguments;  ///< What the user wrote after its name.
    const Apps& apps;     ///< The program's.
};

/// A subcommand: its words for people and what it does.
struct Command {
    std::string_view name;
    std::string_view synopsis;    ///< "sluice run JOB.toml [OPTION]..."
    std::string_view summary;     ///< One line of the list of commands.
    std::string_view details;     ///< A paragraph or two; may be empty.
    std::string_view exit_codes;  ///< Those that matter here, a line each.
    std::string_view example;
    boost::program_options::options_description (*options)();
    std::size_t most_operands;  ///< Arguments that are no options.
    int (*run)(const Command&, const Invocation&);
    bool internal = false;       ///< Called by sluice's own scripts: not in the list of commands.
    bool for_ranks = false;      ///< Launchers start it as one of several.
    bool writes_output = false;  ///< What it is worth lies in files: a stdout that cannot be written is a warning.
};

/// All subcommands, in the order of the help.
[[nodiscard]] std::span<const Command> commands();

extern const Command run_command;          // cmd_run.cpp
extern const Command resume_command;       // cmd_resume.cpp
extern const Command verify_command;       // cmd_verify.cpp
extern const Command check_command;        // cmd_check.cpp
extern const Command apps_command;         // cmd_apps.cpp
extern const Command topo_command;         // cmd_topo.cpp
extern const Command doctor_command;       // cmd_doctor.cpp
extern const Command script_command;       // cmd_script.cpp
extern const Command submit_command;       // cmd_submit.cpp
extern const Command status_command;       // cmd_status.cpp
extern const Command drain_command;        // cmd_drain.cpp
extern const Command cancel_command;       // cmd_drain.cpp
extern const Command exec_command;         // cmd_exec.cpp
extern const Command follow_command;       // cmd_follow.cpp
extern const Command stop_reason_command;  // cmd_stop_reason.cpp
extern const Command ladder_command;       // cmd_ladder.cpp
extern const Command help_command;         // cmd_help.cpp
extern const Command version_command;      // cmd_version.cpp

/// Runs the subcommand that `arguments` (without the program's name) start with. Returns the exit code, also that of a
/// stdout that could not be written, which it says; throws Error.
[[nodiscard]] int run_command_line(Arguments arguments, const Apps& apps);

/// Whether the subcommand that `arguments` start with is one that launchers start several of.
[[nodiscard]] bool is_for_ranks(Arguments arguments);

/// What the user wrote after the subcommand's name.
struct ParsedArguments {
    const Apps& apps;
    boost::program_options::variables_map options{};
    std::vector<std::string> operands{};

    [[nodiscard]] bool has(const char* option) const { return options.count(option) != 0; }
};

/// Refuses a wrong command line: throws Error (usage).
[[noreturn]] void refuse_usage(const Command& command, std::string what);

/// Throws Error (usage) with a 'did you mean'.
[[nodiscard]] ParsedArguments parse_arguments(const Command& command, const Invocation& invocation);

/// The one job file that run, check and others take. Throws Error (usage).
[[nodiscard]] std::string job_file_of(const Command& command, const ParsedArguments& parsed);

/// `sluice COMMAND --help`, and `sluice --help`.
[[nodiscard]] std::string help_of(const Command& command);
[[nodiscard]] std::string general_help();

}  // namespace sluice

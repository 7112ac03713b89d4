#include "tools/cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <sstream>

#include "core/error.hpp"
#include "core/process/standard_error.hpp"
#include "core/text/program_name.hpp"
#include "core/text/wording.hpp"
#include "tools/runtime/standard_output.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

constexpr int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

[[noreturn]] void refuse(std::string where, std::string what, std::string hint) {
    throw Error(ExitCode::usage, {"E-USE-098", std::move(where), std::move(what), std::move(hint)});
}

bool asks_for_help(std::string_view word) {
    return word == "--help" || word == "-h";
}

/// Where `word`, without its dashes, is SECTION.KEY or SECTION.KEY=VALUE and the command sets keys.
std::string did_you_mean_set(const Command& command, std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    const std::size_t equals = word.find('=');
    if (command.set_example == nullptr || word.substr(0, equals).find('.') == std::string_view::npos) {
        return {};
    }
    const bool has_value = equals != std::string_view::npos;
    return fmt::format("; did you mean {}?", quoted(fmt::format("--set {}{}", word, has_value ? "" : "=VALUE")));
}

std::string unknown_option(const Command& command, const po::options_description& known, const std::string& wrong) {
    std::vector<std::string> names{"--help"};
    for (const auto& option : known.options()) {
        names.push_back("--" + option->long_name());
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view name = std::string_view(wrong).substr(0, wrong.find('='));
    const std::string key = did_you_mean_set(command, wrong);
    return fmt::format("unknown option {}{}", quoted(name), key.empty() ? did_you_mean(name, views) : key);
}

const Command& command_of(std::string_view name) {
    std::vector<std::string_view> names{"--help", "--version"};
    for (const Command& command : commands()) {
        if (command.name == name) {
            return command;
        }
        names.push_back(command.name);
    }
    refuse(
        program_name(),
        fmt::format("unknown {} {}{}", name.starts_with('-') ? "option" : "command", quoted(name),
                    did_you_mean(name, names)),
        name.ends_with(".toml") ? fmt::format("{} run {}", program_name(), escaped(name)) : program_name() + " --help");
}

std::string with_program_name(std::string_view text) {
    return replace_all(text, "{program}", program_name());
}

/// Returns `code`, the command's exit code; if 0, the code for a stdout that could not be written.
int code_with_stdout(const Command& command, int code) {
    const std::optional<Error> failure = failure_of_stdout();
    if (!failure) {
        return code;
    }
    ErrorText text = failure->text();
    if (command.writes_output) {
        text = {.id = "W-IO-006", .where = text.where, .what = text.what + "; the files are not affected"};
    }
    say(text);
    return code != 0 || command.writes_output ? code : static_cast<int>(failure->code());
}

/// In the order of its help.
Options options_of(const Command& command) {
    Options options;
    if (command.set_example != nullptr) {
        add_set_option(options, command.set_example);
    }
    if (command.plan != nullptr) {
        options.add_options()("plan", po::value<std::string>()->value_name("FILE"), command.plan);
    }
    if (command.own_options != nullptr) {
        command.own_options(options);
    }
    if (command.json) {
        options.add_options()("json", "print a JSON object");
    }
    return options;
}

/// Throws Error (usage) with a 'did you mean'.
ParsedArguments parse_arguments(const Command& command, Arguments arguments, const Apps& apps) {
    const po::options_description options = options_of(command);
    po::options_description known;
    known.add(options).add_options()("operand", po::value<std::vector<std::string>>());
    po::positional_options_description operands;
    operands.add("operand", -1);
    ParsedArguments parsed{.command = command, .apps = apps};
    if (const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
        command.for_sbatch && dashes != arguments.end()) {
        parsed.after_dashes.assign(dashes + 1, arguments.end());
        arguments = arguments.first(static_cast<std::size_t>(dashes - arguments.begin()));
    }
    try {
        const std::vector<std::string> words(arguments.begin(), arguments.end());
        po::store(po::command_line_parser(words).options(known).positional(operands).style(style).run(),
                  parsed.options);
    } catch (const po::unknown_option& error) {
        refuse_usage(command, unknown_option(command, options, error.get_option_name()));
    } catch (const po::error& error) {
        refuse_usage(command, escaped(error.what()));
    }
    if (parsed.has("operand")) {
        parsed.operands = parsed.options["operand"].as<std::vector<std::string>>();
    }
    if (parsed.operands.size() > command.most_operands) {
        const std::string& word = parsed.operands[command.most_operands];
        const bool has_value = word.find('=') != std::string::npos;  // other words with a dot are names of files
        refuse_usage(command, fmt::format("unexpected argument {}{}", quoted(word),
                                          has_value ? did_you_mean_set(command, word) : ""));
    }
    return parsed;
}

/// Boost prints "-q [ --quiet ]", and a blank where it breaks a line.
std::string options_text(const Options& options) {
    std::ostringstream text;
    text << options;
    static const std::regex short_and_long(R"((-\w) \[ (--[\w-]+) \])");
    return replace_all(std::regex_replace(text.str(), short_and_long, "$1, $2   "), " \n", "\n");
}

}  // namespace

std::span<const Command> commands() {
    static const std::array all{run_command,    resume_command, verify_command,      diff_command,   scale_command,
                                check_command,  apps_command,   topo_command,        doctor_command, script_command,
                                submit_command, status_command, drain_command,       cancel_command, ladder_command,
                                exec_command,   follow_command, stop_reason_command, help_command,   completion_command,
                                version_command};
    return all;
}

void add_set_option(Options& options, std::string_view example) {
    const std::string text =
        fmt::format("set a key of the job, as in --set {}; KEY= unsets it; may be repeated", example);
    options.add_options()("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"), text.c_str());
}

int run_command_line(Arguments arguments, const Apps& apps) {
    if (arguments.empty()) {
        refuse(program_name(), "got no command", program_name() + " --help");
    }
    if (asks_for_help(arguments.front())) {
        print(general_help(apps));
        return code_with_stdout(help_command, 0);
    }
    const Command& command = arguments.front() == "--version" ? version_command : command_of(arguments.front());
    const Arguments rest = arguments.subspan(1);
    const auto options_end = std::find(rest.begin(), rest.end(), "--");
    if (std::any_of(rest.begin(), options_end, asks_for_help)) {
        print(help_of(command));
        return code_with_stdout(help_command, 0);
    }
    return code_with_stdout(command, command.run(parse_arguments(command, rest, apps)));
}

bool is_for_ranks(Arguments arguments) {
    const std::span<const Command> all = commands();
    return !arguments.empty() && std::any_of(all.begin(), all.end(), [&](const Command& command) {
        return command.for_ranks && command.name == arguments.front();
    });
}

void refuse_usage(const Command& command, std::string what) {
    const std::string words = fmt::format("{} {}", program_name(), command.name);
    refuse(words, std::move(what), words + " --help");
}

std::vector<OptionName> option_names(const Command& command) {
    std::vector<OptionName> names;
    const Options options = options_of(command);
    for (const auto& option : options.options()) {
        names.push_back({"--" + option->long_name(), option->semantic()->max_tokens() > 0});
    }
    return names;
}

std::string help_of(const Command& command) {
    std::string text = fmt::format("Usage: {{program}} {} {}\n\n{}\n", command.name, command.synopsis, command.summary);
    if (!command.details.empty()) {
        text += fmt::format("\n{}\n", command.details);
    }
    text += fmt::format("\nOptions:\n{}  -h, --help            print this help\n", options_text(options_of(command)));
    text += fmt::format("\nExit codes:\n{}\n", command.exit_codes);
    text += fmt::format("\nExample:\n{}\n", command.example);
    return with_program_name(text);
}

std::string general_help(const Apps& apps) {
    std::string text =
        "Usage: {program} COMMAND [ARGUMENT]...\n\n"
        "Runs one model over many independent items, on every device that it gets.\n\n"
        "Commands:\n";
    for (const Command& command : commands()) {
        if (!command.internal) {
            text += fmt::format("  {:<10} {}\n", command.name, command.summary);
        }
    }
    text +=
        "\nOptions:\n"
        "  -h, --help   print this help; after a command, that command's\n"
        "  --version    print the version\n\n"
        "Exit codes:\n"
        "  0   done                        76  a rank hangs, or ranks lost contact\n"
        "  64  wrong command line          77  refused, to keep files safe\n"
        "  65  wrong data in a file        78  wrong job file\n"
        "  66  cannot open a file          79  another attempt is alive\n"
        "  69  a device is missing         80  a GPU's hardware failed\n"
        "  70  internal error              81  a number that is not finite\n"
        "  71  out of memory               82  repeated attempts died\n"
        "  73  cannot create the output    83  a newer attempt has taken over\n"
        "  74  a read or a write failed    84  a run or an output is damaged\n"
        "  75  stopped early, in good order\n\n"
        "Example:\n"
        "  {program} check job.toml && mpirun -n 4 {program} run job.toml\n\n"
        "job.toml, whose keys `{program} help keys` lists, and the apps `{program} apps`:\n";
    text += fmt::format(
        "  app = \"{}\"\n"
        "  input.path = \"articles.csv\"\n"
        "  input.columns = [2, 3]\n"
        "  model.random = 17   # for a trial; else model.weights = \"model.safetensors\"\n"
        "  output.path = \"labels.csv\"\n",
        apps.all().empty() ? "" : apps.all().front()->name());
    return with_program_name(text);
}

}  // namespace sluice

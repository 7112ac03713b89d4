#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/schema.hpp"
#include "core/text/program_name.hpp"
#include "core/text/wording.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

using Words = std::vector<std::string>;

/// Whether the script can print it without quotes; an app of another program may have any strings.
bool is_plain(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    });
}

/// Those of the key's values that can be named.
Words values_of(const KeySpec& key) {
    Words values(key.choices.begin(), key.choices.end());
    if (key.type == KeyType::boolean) {
        values = {"true", "false"};
    }
    values.emplace_back(key.word);
    std::erase_if(values, [](const std::string& value) { return !is_plain(value); });
    return values;
}

/// The keys of all jobs and apps with their values; where several apps have one, with those of each.
std::map<std::string, Words> keys_with_values(const Apps& apps) {
    std::map<std::string, Words> keys;
    const auto add = [&](const auto& of_owner) {
        for (const KeySpec& key : of_owner) {
            Words& values = keys[key.full_name()];
            for (std::string& value : values_of(key)) {
                if (std::ranges::find(values, value) == values.end()) {
                    values.push_back(std::move(value));
                }
            }
        }
    };
    add(job_keys());
    for (const AppKeys& app : apps.keys()) {
        add(app.keys);
        keys["app"].emplace_back(app.app);
    }
    std::erase_if(keys, [](const auto& key) { return !is_plain(key.first); });
    return keys;
}

/// Arms of a shell's `case`.
std::string arms_of(const std::map<std::string, Words>& words) {
    std::string arms;
    for (const auto& [name, of_name] : words) {
        if (!of_name.empty()) {
            arms += fmt::format("    {}) echo '{}' ;;\n", name, fmt::join(of_name, " "));
        }
    }
    return arms;
}

/// What follows the tables, for a program called sluice. `word` is what is being typed, since the last blank; bash
/// splits it at '=', and replaces only what is behind that.
constexpr std::string_view functions = R"bash(
_sluice_offer() { # WORD...: those that begin with the word that is being typed
    local whole
    for whole; do
        if [[ $whole == "$word"* ]]; then
            COMPREPLY+=("${whole:skipped}")
        fi
    done
}

_sluice_offer_settings() { # BEFORE: what stands before the key, nothing or --set=
    local setting=${word#"$1"} key value
    if [[ $setting == *=* ]]; then
        key=${setting%%=*}
        for value in $(_sluice_values "$key"); do
            _sluice_offer "$1$key=$value"
        done
        [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default
    else
        compopt -o nospace
        for key in "${_sluice_keys[@]}"; do
            _sluice_offer "$1$key="
        done
    fi
}

_sluice() {
    local typed=${COMP_LINE:0:COMP_POINT} word before options skipped=0
    word=${typed##*[[:space:]]}
    read -ra before <<<"${typed%"$word"}"
    if [[ $COMP_WORDBREAKS == *=* && $word == *=* ]]; then
        local behind=${word##*=}
        skipped=$((${#word} - ${#behind}))
    fi
    local command=${before[1]-} last=${before[-1]}
    COMPREPLY=()
    if [[ ${#before[@]} -eq 1 ]]; then
        _sluice_offer "${_sluice_commands[@]}" --help --version
    elif [[ " ${before[*]} " == *' -- '* ]]; then
        return # sbatch's options
    elif [[ $last == --set ]]; then
        _sluice_offer_settings ''
    elif [[ $word == --set=* ]]; then
        _sluice_offer_settings --set=
    elif [[ " $(_sluice_options_with_value "$command") " == *" $last "* ]]; then
        compopt -o default
    elif [[ $word == -* ]]; then
        read -ra options <<<"$(_sluice_options "$command") --help"
        _sluice_offer "${options[@]}"
    elif [[ $command == help && $last == keys ]]; then
        _sluice_offer "${_sluice_topics[@]}"
    elif [[ $command == help ]]; then
        _sluice_offer "${_sluice_commands[@]}" keys
    elif [[ $command == completion ]]; then
        _sluice_offer bash
    else
        compopt -o default
    fi
}
)bash";

std::string bash_script(std::string_view program, const Apps& apps) {
    Words names;
    std::map<std::string, Words> options;
    std::map<std::string, Words> with_value;
    for (const Command& command : commands()) {
        if (command.internal) {
            continue;
        }
        names.emplace_back(command.name);
        for (const OptionName& option : option_names(command)) {
            options[names.back()].push_back(option.name);
            if (option.takes_value) {
                with_value[names.back()].push_back(option.name);
            }
        }
    }
    const std::map<std::string, Words> keys = keys_with_values(apps);
    Words key_names;
    for (const auto& [name, values] : keys) {
        key_names.push_back(name);
    }
    Words topics = key_topics(apps.keys());
    std::erase_if(topics, [](const std::string& topic) { return !is_plain(topic); });
    const auto table = [](std::string_view name, const std::map<std::string, Words>& words) {
        return fmt::format("\n{}() {{\n    case $1 in\n{}    esac\n}}\n", name, arms_of(words));
    };
    std::string prefix = fmt::format("_{}", program);  // of names: a shell may complete several programs
    std::ranges::replace_if(
        prefix, [](char c) { return c == '.' || c == '-'; }, '_');
    return fmt::format(
               "# Completion for bash, printed by: {0} completion bash\n"
               "{1}_commands=({2})\n{1}_keys=({3})\n{1}_topics=({4})\n",
               program, prefix, fmt::join(names, " "), fmt::join(key_names, " "), fmt::join(topics, " ")) +
           table(prefix + "_options", options) + table(prefix + "_options_with_value", with_value) +
           table(prefix + "_values", keys) + replace_all(functions, "_sluice", prefix) +
           fmt::format("\ncomplete -F {} {}\n", prefix, program);
}

int print_completion(const ParsedArguments& parsed) {
    if (parsed.operands.empty() || parsed.operands.front() != "bash") {
        refuse_usage(completion_command, parsed.operands.empty()
                                             ? std::string("got no shell, expected bash")
                                             : fmt::format("got {}, expected bash", quoted(parsed.operands.front())));
    }
    const std::string program = parsed.operands.size() > 1 ? parsed.operands[1] : program_name();
    if (!is_plain(program) || program.starts_with('-')) {
        refuse_usage(completion_command,
                     fmt::format("got the program {}, expected its name, of A-Z a-z 0-9 . _ -", quoted(program)));
    }
    print(bash_script(program, parsed.apps));
    return 0;
}

}  // namespace

const Command completion_command{
    .name = "completion",
    .synopsis = "bash [PROGRAM]",
    .summary = "print what lets a shell complete commands, options and keys",
    .details =
        "Give it to bash by `source <({program} completion bash)`, or keep it where bash-completion looks:\n"
        "~/.local/share/bash-completion/completions/{program}. PROGRAM is the program's name there, if it is\n"
        "another.",
    .exit_codes = "  0   printed        64  wrong command line",
    .example = "  source <({program} completion bash)",
    .most_operands = 2,
    .run = print_completion,
};

}  // namespace sluice

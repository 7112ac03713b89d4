#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/config/schema.hpp"
#include "core/error.hpp"
#include "core/text/program_name.hpp"
#include "core/text/wording.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_topic(std::string_view topic, const std::vector<std::string_view>& topics, std::string hint) {
    throw Error(ExitCode::usage,
                {"E-USE-098", program_name() + " help",
                 fmt::format("unknown topic {}{}", quoted(topic), did_you_mean(topic, topics)), std::move(hint)});
}

constexpr std::string_view keys_title = "Keys of a job file, and of --set as SECTION.KEY=VALUE (docs/job-file.md):\n\n";

std::string help_on_keys(std::span<const AppKeys> apps, const std::string& topic) {
    if (const std::string keys = describe_keys(apps, topic); !keys.empty()) {
        return fmt::format("{}{}", keys_title, keys);
    }
    if (std::ranges::find(apps, topic, &AppKeys::app) != apps.end()) {
        return fmt::format("app {} has no keys of its own; `{} help keys` lists those of every job\n", quoted(topic),
                           program_name());
    }
    const std::vector<std::string> known = key_topics(apps);
    refuse_topic(topic, {known.begin(), known.end()}, program_name() + " help keys");
}

int print_help(const ParsedArguments& parsed) {
    if (parsed.operands.empty()) {
        print(general_help(parsed.apps));
        return 0;
    }
    const std::string& topic = parsed.operands.front();
    if (topic == "keys") {
        const auto apps = parsed.apps.keys();
        print(parsed.operands.size() == 1 ? fmt::format("{}{}", keys_title, describe_keys(apps))
                                          : help_on_keys(apps, parsed.operands[1]));
        return 0;
    }
    if (parsed.operands.size() > 1) {
        refuse_usage(help_command, fmt::format("unexpected argument {}", quoted(parsed.operands[1])));
    }
    std::vector<std::string_view> topics{"keys"};
    for (const Command& other : commands()) {
        if (other.name == topic) {
            print(help_of(other));
            return 0;
        }
        topics.push_back(other.name);
    }
    const bool is_key = !describe_keys(parsed.apps.keys(), topic).empty();
    const bool is_id = topic.starts_with("E-") || topic.starts_with("W-");
    refuse_topic(topic, topics,
                 is_key  ? fmt::format("{} help keys {}", program_name(), topic)
                 : is_id ? "docs/errors.md explains each message by its id"
                         : program_name() + " --help");
}

}  // namespace

const Command help_command{
    .name = "help",
    .synopsis = "[COMMAND | keys [SECTION | KEY | APP]]",
    .summary = "print the help of a command, or the keys of a job file",
    .details = {},
    .exit_codes = "  0   printed        64  wrong command line",
    .example = "  {program} help keys pipeline.depth",
    .most_operands = 2,
    .run = print_help,
};

}  // namespace sluice

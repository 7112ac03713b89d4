#include <fmt/format.h>

#include "core/config/schema.hpp"
#include "core/error.hpp"
#include "core/wording.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

int print_help(const ParsedArguments& parsed) {
    if (parsed.operands.empty()) {
        print(general_help());
        return 0;
    }
    const std::string& topic = parsed.operands.front();
    if (topic == "keys") {
        print("Keys of a job file, and of --set as SECTION.KEY=VALUE (docs/job-file.md):\n\n" +
              describe_keys(parsed.apps.keys()));
        return 0;
    }
    std::vector<std::string_view> topics{"keys"};
    for (const Command& other : commands()) {
        if (other.name == topic) {
            print(help_of(other));
            return 0;
        }
        topics.push_back(other.name);
    }
    throw Error(ExitCode::usage,
                {"E-USE-098", "sluice help",
                 fmt::format("unknown topic {}{}", quoted(topic), did_you_mean(topic, topics)), "sluice --help"});
}

}  // namespace

const Command help_command{
    .name = "help",
    .synopsis = "sluice help [COMMAND | keys]",
    .summary = "print the help of a command, or the keys of a job file",
    .details = {},
    .exit_codes = "  0   printed        64  wrong command line",
    .example = "  sluice help keys",
    .most_operands = 1,
    .run = print_help,
};

}  // namespace sluice

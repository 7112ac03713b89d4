#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/cli/command_line.hpp"
#include "tools/runtime/standard_output.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

constexpr double mega = 1e6;

po::options_description apps_options() {
    po::options_description options;
    options.add_options()("json", "print a JSON list: name, summary, input_bytes, output_bytes, flop_per_item");
    return options;
}

int list_apps(const Command& command, const Invocation& invocation) {
    const ParsedArguments parsed = parse_arguments(command, invocation);
    const bool as_json = parsed.has("json");
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    std::string table;
    for (const App* app : parsed.apps.all()) {
        const IoShape shape = app->make_codec({})->shape();
        list.push_back({{"name", app->name()},
                        {"summary", app->summary()},
                        {"input_bytes", shape.input_bytes},
                        {"output_bytes", shape.output_bytes},
                        {"flop_per_item", app->flop_per_item()}});
        table += fmt::format("{:<12} {}\n{:<12} per item: {} bytes in, {} out, {:.1f} MFLOP\n", app->name(),
                             app->summary(), "", shape.input_bytes, shape.output_bytes, app->flop_per_item() / mega);
    }
    print(as_json ? list.dump(2) + "\n" : table);
    return 0;
}

}  // namespace

const Command apps_command{
    .name = "apps",
    .synopsis = "sluice apps [--json]",
    .summary = "list the models that a job can name",
    .details = {},
    .exit_codes = "  0   listed        64  wrong command line",
    .example = "  sluice apps --json",
    .options = apps_options,
    .most_operands = 0,
    .run = list_apps,
};

}  // namespace sluice

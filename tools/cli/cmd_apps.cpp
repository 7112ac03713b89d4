#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/config/config.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

void apps_options(Options& options) {
    options.add_options()("json", "print a JSON list: name, summary, input_bytes, output_bytes, keys");
}

/// Keys that only this app has.
nlohmann::ordered_json keys_of(const App& app) {
    nlohmann::ordered_json keys = nlohmann::ordered_json::array();
    for (const KeySpec& key : app.keys()) {
        keys.push_back({{"name", key.full_name()},
                        {"takes", key.expected()},
                        {"default", key.default_text()},
                        {"help", key.help}});
    }
    return keys;
}

int list_apps(const ParsedArguments& parsed) {
    const bool as_json = parsed.has("json");
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    std::string table;
    for (const App* app : parsed.apps.all()) {
        nlohmann::ordered_json facts{{"name", app->name()}, {"summary", app->summary()}};
        table += fmt::format("{:<12} {}\n", app->name(), app->summary());
        if (!std::ranges::any_of(app->keys(), &KeySpec::required)) {  // otherwise only a job can open it
            const std::unique_ptr<OpenApp> opened = app->open(default_settings(app->keys()));
            const IoShape shape = opened->shape();
            facts["input_bytes"] = shape.input_bytes;
            facts["output_bytes"] = shape.output_bytes;
            table += fmt::format("{:<12} per item: {} bytes in, {} out\n", "", shape.input_bytes, shape.output_bytes);
        }
        facts["keys"] = keys_of(*app);
        for (const KeySpec& key : app->keys()) {
            table += fmt::format("{:<12} {}: {}\n", "", key.full_name(), key.help);
        }
        list.push_back(std::move(facts));
    }
    print(as_json ? json_text(list) : table);
    return 0;
}

}  // namespace

const Command apps_command{
    .name = "apps",
    .synopsis = "[--json]",
    .summary = "list the models that a job can name",
    .details = {},
    .exit_codes = "  0   listed        64  wrong command line",
    .example = "  {program} apps --json",
    .own_options = apps_options,
    .most_operands = 0,
    .run = list_apps,
};

}  // namespace sluice

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "comm/mpi_session.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "kernels/host_instructions.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/program_facts.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

int print_version(const ParsedArguments& parsed) {
    const ProgramFacts& program = program_facts();
    nlohmann::ordered_json versions{{"sluice", program.version},    {"commit", program.commit},
                                    {"compiler", program.compiler}, {"mpi", mpi_library()},
                                    {"cuda", program.cuda},         {"onednn", onednn_version()},
                                    {"hwloc", hwloc_version()}};
    for (const App* app : parsed.apps.all()) {
        for (const auto& [name, version] : app->libraries()) {
            versions[name] = version;
        }
    }
    if (parsed.has("json")) {
        print(json_text(versions));
        return 0;
    }
    for (const auto& [name, version] : versions.items()) {
        print(fmt::format("{:<9} {}\n", name, version.get<std::string>()));
    }
    return 0;
}

}  // namespace

const Command version_command{
    .name = "version",
    .synopsis = "[--json]",
    .summary = "print the versions of sluice and of what it uses",
    .details = "A line each: sluice, the commit and the compiler that it was built from and by, and the libraries.",
    .exit_codes = "  0   printed        64  wrong command line",
    .example = "  {program} version --json",
    .json = true,
    .most_operands = 0,
    .run = print_version,
};

}  // namespace sluice

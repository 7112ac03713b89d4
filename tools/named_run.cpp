#include "tools/named_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "core/error.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string what) {
    throw Error(ExitCode::no_input,
                {.id = "E-OUT-112",
                 .where = escaped(name),
                 .what = std::move(what),
                 .hint = "name an output, its folder (labels.csv.sluice), or the job file that made it"});
}

}  // namespace

RunPaths named_run(const std::string& name) {
    if (std::optional<RunPaths> paths = find_run(name)) {
        return *paths;
    }
    std::error_code unknown;  // what cannot be looked at is no job file
    if (!std::filesystem::is_regular_file(name, unknown) || std::filesystem::path(name).extension() != ".toml") {
        refuse(name, "no run lies there");
    }
    const std::filesystem::path output = read_job_absolute(name, {}).output.path;
    std::optional<RunPaths> paths = find_run(output);
    if (!paths) {
        refuse(name, fmt::format("has no run: there is nothing at {}", quoted(output.native())));
    }
    return *paths;
}

std::string run_operand(const Command& command, const ParsedArguments& parsed) {
    if (parsed.operands.empty() || parsed.operands.front().empty()) {
        throw Error(ExitCode::usage, {.id = "E-USE-098",
                                      .where = fmt::format("sluice {}", command.name),
                                      .what = "got no run",
                                      .hint = fmt::format("sluice {} --help", command.name)});
    }
    return parsed.operands.front();
}

}  // namespace sluice

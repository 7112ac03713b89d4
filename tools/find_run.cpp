#include "tools/find_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/commit/run_paths.hpp"
#include "core/error.hpp"
#include "slurm/queue.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string what) {
    throw Error(ExitCode::no_input, {.id = "E-SLM-116",
                                     .where = escaped(name),
                                     .what = std::move(what),
                                     .hint = "name its output, its folder, its job file, or its job's number"});
}

bool is_number(const std::string& name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::filesystem::path find_run_folder(const std::string& name) {
    std::error_code unknown;  // what cannot be looked at is not there
    if (is_number(name) && !std::filesystem::exists(name, unknown)) {
        std::filesystem::path folder = folder_of_job(name);
        if (folder.empty()) {
            refuse(name, "no job of sluice that Slurm remembers");
        }
        return folder;
    }
    if (name.ends_with(".toml") && std::filesystem::is_regular_file(name, unknown)) {
        const JobConfig job = read_job_absolute(name, {});
        std::filesystem::path folder = run_paths(job.output.path, {}).run_folder();
        if (!std::filesystem::is_directory(folder, unknown)) {
            refuse(name, fmt::format("has no run yet: there is no {}", quoted(folder.native())));
        }
        return folder;
    }
    const std::optional<RunPaths> paths = find_run(name);
    if (!paths) {
        refuse(name, "no run is there");
    }
    return paths->run_folder();
}

std::string run_name_of(const Command& command, const ParsedArguments& parsed) {
    if (parsed.operands.empty() || parsed.operands.front().empty()) {
        throw Error(ExitCode::usage, {.id = "E-USE-098",
                                      .where = fmt::format("sluice {}", command.name),
                                      .what = "got no run",
                                      .hint = fmt::format("sluice {} --help", command.name)});
    }
    return parsed.operands.front();
}

}  // namespace sluice

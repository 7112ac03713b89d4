#include "tools/runtime/find_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/parse.hpp"
#include "core/text/program_name.hpp"
#include "slurm/queue.hpp"
#include "tools/runtime/job_file.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string what,
                         std::string hint = "name its output, its folder, its job file (.toml), or its job's number") {
    throw Error(ExitCode::no_input,
                {.id = "E-RUN-116", .where = escaped(name), .what = std::move(what), .hint = std::move(hint)});
}

std::filesystem::path folder_of_number(const std::string& number) {
    std::filesystem::path folder = folder_of_job(number);
    if (folder.empty()) {
        refuse(number, "no job of sluice that Slurm remembers");
    }
    return folder;
}

/// The run of a folder of parts, given one of them.
std::optional<RunPaths> run_of_part(const std::filesystem::path& part) {
    std::error_code unknown;
    const std::filesystem::path folder = std::filesystem::absolute(part, unknown).parent_path();
    if (unknown || !std::filesystem::exists(part, unknown) || !part.filename().native().starts_with("part-")) {
        return std::nullopt;
    }
    std::optional<RunPaths> paths = find_run(folder);
    return paths && paths->layout == OutputLayout::folder ? paths : std::nullopt;
}

RunPaths find(const std::string& name, const Apps& apps) {
    std::error_code unknown;  // what cannot be examined counts as missing
    std::filesystem::path place = name;
    const bool is_job_file = name.ends_with(".toml") && std::filesystem::is_regular_file(name, unknown);
    if (is_number(name) && !std::filesystem::exists(name, unknown)) {
        place = folder_of_number(name);
    } else if (is_job_file) {
        place = read_job_absolute({.path = name}, apps).output.path;
    }
    std::optional<RunPaths> paths = find_run(place);
    if (!paths) {
        paths = run_of_part(place);
    }
    if (!paths && is_job_file) {
        refuse(name, fmt::format("has no run yet: none found at {}", quoted(place.native())),
               fmt::format("`{} run {}` begins it; of a run with another --set output.path, name the output",
                           program_name(), escaped(name)));
    }
    if (!paths) {
        refuse(name, place == name ? "no run found there" + did_you_mean_job(name)
                                   : fmt::format("has no run: none found at {}", quoted(place.native())));
    }
    return *std::move(paths);
}

}  // namespace

NamedRun named_run(const std::string& name, const Apps& apps) {
    const RunPaths paths = find(name, apps);
    return {.paths = paths, .folders = open_run_folder(paths)};
}

NamedRun named_run_to_read(const std::string& name, const Apps& apps) {
    const RunPaths paths = find(name, apps);
    return {.paths = paths, .folders = open_run_folder_to_read(paths)};
}

}  // namespace sluice

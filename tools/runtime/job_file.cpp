#include "tools/runtime/job_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/commit/file.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/program_name.hpp"

namespace sluice {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 10;  // as for any job file

/// Path relative to a run's folder: "../articles.csv".
std::filesystem::path as_seen_from(const RunPaths& run, const std::filesystem::path& path) {
    const std::filesystem::path whole = without_dots(absolute_path(path));
    const std::filesystem::path from_parent = whole.lexically_relative(run.output.parent_path());
    const bool is_below = !from_parent.empty() && *from_parent.begin() != "..";
    return is_below ? whole.lexically_relative(run.run_folder()) : whole;
}

std::filesystem::path output_of(const RunPaths& run) {
    return run.layout == OutputLayout::folder ? run.output / "" : run.output;
}

/// --set output.path would have a resumed run begin another one, whatever was named.
void refuse_other_output(const JobFile& file, const std::filesystem::path& output, const Apps& apps) {
    const std::filesystem::path chosen = read_job(file, apps).output.path;
    if (chosen != output) {
        throw Error(ExitCode::configuration,
                    {.id = "E-CFG-105",
                     .where = "--set output.path",
                     .what = fmt::format("got {}, but the run to resume writes {}", quoted(chosen.native()),
                                         quoted(output.native())),
                     .hint = fmt::format("leave it out; `{} run JOB.toml` begins another output", program_name())});
    }
}

}  // namespace

JobConfig read_job(const JobFile& file, const Apps& apps) {
    if (!file.text) {
        return read_job(file.path, file.overrides, apps.keys());
    }
    JobConfig job = parse_job(*file.text, file.path.native(), file.path.parent_path(), file.overrides, apps.keys());
    change_paths(job, [](const std::filesystem::path& path) { return without_dots(absolute_path(path)); });
    return job;
}

JobConfig read_job_absolute(JobFile file, const Apps& apps) {
    file.path = absolute_path(file.path);
    return read_job(file, apps);
}

JobFile kept_job(const RunPaths& run, std::vector<Override> overrides, const Apps& apps) {
    JobFile file{.path = run.job_file(), .text = read_text(run.job_file(), most_bytes)};
    if (!file.text) {
        throw Error(ExitCode::no_input, {.id = "E-RUN-116",
                                         .where = escaped(run.run_folder().native()),
                                         .what = "holds no job: run.toml is missing",
                                         .hint = program_name() + " run JOB.toml resumes it"});
    }
    const JobConfig kept = read_job(file, apps);
    const std::filesystem::path output = output_of(run);
    file.overrides.push_back({.key = "output.path", .value = toml_string(output.native())});
    if (kept.output.report == default_report(kept.output.path)) {
        file.overrides.push_back({.key = "output.report", .value = toml_string(default_report(output).native())});
    }
    bool sets_output = false;
    for (Override& one : overrides) {
        one.base = run.output.parent_path();
        sets_output = sets_output || one.key == "output.path";
        file.overrides.push_back(std::move(one));
    }
    if (sets_output) {
        refuse_other_output(file, output, apps);
    }
    return file;
}

JobFile planned_job(const std::filesystem::path& plan) {
    JobFile file{.path = plan, .text = read_text(plan, most_bytes)};
    if (!file.text) {
        throw Error(ExitCode::no_input, {.id = "E-CFG-001",
                                         .where = escaped(plan.native()),
                                         .what = "cannot open the job file: there is none",
                                         .hint = "submit the job again"});
    }
    return file;
}

std::string kept_text(const JobConfig& job, const RunPaths& run) {
    JobConfig kept = job;
    change_paths(kept, [&](const std::filesystem::path& path) { return as_seen_from(run, path); });
    kept.output.path = run.layout == OutputLayout::folder ? std::filesystem::path("..") / ""
                                                          : std::filesystem::path("..") / run.output.filename();
    return to_toml(kept);
}

}  // namespace sluice

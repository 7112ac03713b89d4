#include "slurm/batch_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/commit/run_paths.hpp"
#include "core/config/slurm_option.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 5> always_exported{"PATH", "HOME", "USER", "LANG", "LD_LIBRARY_PATH"};

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '/' || c == '-';
}

void check_path(const std::filesystem::path& path, std::string_view what) {
    const std::string& text = path.native();
    const auto bad = std::find_if_not(text.begin(), text.end(), is_plain);
    if (bad != text.end()) {
        throw Error(ExitCode::configuration,
                    {.id = "E-SLM-112",
                     .where = escaped(text),
                     .what = fmt::format("{} has {} in its path, expected only A-Z a-z 0-9 . _ / -", what,
                                         quoted(std::string_view(&*bad, 1))),
                     .hint = "Slurm's options cannot hold more: choose another folder"});
    }
}

/// A GPU job would otherwise wait in the queue only to find no GPU.
void check_gpus(const JobConfig& job) {
    if (job.run.device == DeviceKind::cuda && job.layout.gpus_per_node == 0 &&
        job.slurm.gpu_request != GpuRequest::none) {
        throw Error(ExitCode::configuration, {.id = "E-CFG-105",
                                              .where = "layout.gpus_per_node",
                                              .what = "got 0, but run.device is \"cuda\"",
                                              .hint = "set layout.gpus_per_node to a node's GPUs, or "
                                                      "slurm.gpu_request = \"none\" where they need not be requested"});
    }
}

std::string gpus_text(const JobConfig& job) {
    return (job.slurm.gpu_type.empty() ? std::string() : job.slurm.gpu_type + ":") +
           std::to_string(job.layout.gpus_per_node);
}

/// Names of the exported variables, and values of sluice's own.
std::string export_list(const JobConfig& job, const ScriptPaths& paths) {
    std::vector<std::string> names(always_exported.begin(), always_exported.end());
    names.insert(names.end(), job.slurm.environment.begin(), job.slurm.environment.end());
    std::vector<std::pair<std::string_view, std::string>> ours{
        {"SLUICE_BIN", paths.program.native()},
        {"SLUICE_PLAN", paths.plan().native()},
        {"SLUICE_SCRIPT", paths.script().native()},
        {"SLUICE_LAUNCHER", std::string(name_of(job.slurm.launcher))},
        {"SLUICE_MPI", job.slurm.mpi},
        {"SLUICE_RANKS", std::to_string(ranks_per_node(job))},
        {"SLUICE_RESUME", std::string(name_of(job.slurm.resume.mode))},
        {"SLUICE_MAX", std::to_string(job.slurm.resume.most)},
        {"SLUICE_ATTEMPT", "0"}};
    std::string list = fmt::format("{}", fmt::join(names, ","));
    for (const auto& [name, value] : ours) {
        names.emplace_back(name);
        list += fmt::format(",{}={}", name, value);
    }
    names.emplace_back("SLUICE_EXPORT");
    return list + fmt::format(",SLUICE_EXPORT={}", fmt::join(names, ":"));  // for a job that follows this one
}

}  // namespace

std::uint32_t ranks_per_node(const JobConfig& job) {
    return job.layout.ranks_per_node.value_or(std::max(1U, job.layout.gpus_per_node));
}

ScriptPaths script_paths(const JobConfig& job) {
    ScriptPaths paths{{.run_folder = run_paths(job.output.path, {}).run_folder()}, own_program()};
    check_path(paths.program, "sluice itself");
    check_path(paths.run_folder, "the run's folder");
    return paths;
}

std::vector<std::string> sbatch_options(const JobConfig& job, const ScriptPaths& paths) {
    check_gpus(job);
    const SlurmConfig& slurm = job.slurm;
    std::vector<std::string> options;
    const auto add = [&](std::string_view name, const std::string& value) {
        const bool skipped = std::find(slurm.skip.begin(), slurm.skip.end(), name) != slurm.skip.end();
        if (!skipped) {
            options.push_back(value.empty() ? fmt::format("--{}", name) : fmt::format("--{}={}", name, value));
        }
    };
    const auto add_name = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            add(name, value);
        }
    };
    add("job-name", slurm.job_name);
    add_name("partition", slurm.partition);
    add_name("account", slurm.account);
    add_name("qos", slurm.qos);
    add_name("constraint", slurm.constraint);
    add_name("reservation", slurm.reservation);
    add_name("nodelist", slurm.nodelist);
    add_name("exclude", slurm.exclude);
    add_name("mail-user", slurm.mail_user);
    add_name("mail-type", slurm.mail_type);
    add("nodes", std::to_string(slurm.nodes));
    add("ntasks-per-node", std::to_string(ranks_per_node(job)));
    if (job.layout.cpus_per_rank) {
        add("cpus-per-task", std::to_string(*job.layout.cpus_per_rank));
    }
    if (job.layout.gpus_per_node > 0 && slurm.gpu_request == GpuRequest::gpus_per_node) {
        add("gpus-per-node", gpus_text(job));
    }
    if (job.layout.gpus_per_node > 0 && slurm.gpu_request == GpuRequest::gres) {
        add("gres", "gpu:" + gpus_text(job));
    }
    if (slurm.mem != "site") {
        add("mem", slurm.mem);
    }
    if (slurm.exclusive) {
        add("exclusive", {});
    }
    if (slurm.time) {
        add("time", duration_text(*slurm.time));
    }
    if (const auto notice = notice_of(slurm)) {
        add("signal", fmt::format("B:USR1@{}", notice->count()));
    }
    add(slurm.resume.mode == ResumeMode::requeue ? "requeue" : "no-requeue", {});
    add("open-mode", "append");
    add("output", (paths.logs() / "%j.log").native());
    if (slurm.comment) {
        add("comment", "sluice");
    }
    options.push_back("--export=" + export_list(job, paths));
    options.insert(options.end(), slurm.extra.begin(), slurm.extra.end());
    return options;
}

std::string batch_script(const JobConfig& job, const ScriptPaths& paths) {
    const std::string_view text = batch_text();
    const std::size_t first_line_end = text.find('\n') + 1;
    std::string script(text.substr(0, first_line_end));
    for (const std::string& option : sbatch_options(job, paths)) {
        script += fmt::format("#SBATCH {}\n", option);
    }
    script += text.substr(first_line_end);
    return script;
}

}  // namespace sluice

#include "core/config/config_slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/config/slurm_option.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// "site", "0", "480G".
bool is_memory(std::string_view text) {
    if (text == "site") {
        return true;
    }
    const std::size_t digits =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    constexpr std::size_t most_digits = 12;
    const std::string_view unit = text.substr(digits);
    return digits >= 1 && digits <= most_digits &&
           (unit.empty() || unit == "K" || unit == "M" || unit == "G" || unit == "T");
}

bool is_equal_in_any_case(std::string_view text, std::string_view capitals) {
    return std::ranges::equal(text, capitals,
                              [](char a, char b) { return a == b || (a >= 'a' && a <= 'z' && a - 'a' + 'A' == b); });
}

/// The name of an environment variable.
bool is_variable(std::string_view text) {
    return !text.empty() && !is_digit(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
    });
}

/// Not a variable for sbatch --export, in whatever case.
bool is_export_keyword(std::string_view text) {
    return is_equal_in_any_case(text, "ALL") || is_equal_in_any_case(text, "NONE") || is_equal_in_any_case(text, "NIL");
}

void check_environment(const SlurmConfig& slurm, const SettingsReader& job) {
    for (const std::string& name : slurm.environment) {
        const bool ours = name.starts_with("SLUICE_") || name.starts_with("SLURM_") || name.starts_with("SBATCH_") ||
                          name.starts_with("SRUN_");
        if (is_export_keyword(name)) {
            refuse_job("E-CFG-011", job.where("slurm.environment"),
                       fmt::format("slurm.environment: got {}, a word of sbatch's --export, expected the name of an "
                                   "environment variable",
                                   quoted(name)),
                       "name each variable that the job needs");
        }
        if (!is_variable(name) || ours) {
            refuse_job("E-CFG-011", job.where("slurm.environment"),
                       fmt::format("slurm.environment: got {}, expected {}", quoted(name),
                                   ours ? "a variable that is neither Slurm's nor sluice's"
                                        : "the name of an environment variable"));
        }
    }
}

void check_extra(const SlurmConfig& slurm, const SettingsReader& job) {
    for (const std::string& option : slurm.extra) {
        if (const std::string problem = problem_with_option(option); !problem.empty()) {
            refuse_job("E-CFG-016", job.where("slurm.extra"), "slurm.extra: " + problem);
        }
    }
}

SlurmConfig::Resume build_resume(const SettingsReader& job) {
    SlurmConfig::Resume resume;
    resume.mode = job.choice("slurm.resume.mode", resume.mode, resume_mode_names);
    resume.most = job.count("slurm.resume.max").value_or(resume.most);
    const Setting* const setting = job.find("slurm.resume.notice");
    const auto* const notice = setting == nullptr ? nullptr : std::get_if<std::uint64_t>(&setting->value);
    if (notice != nullptr) {
        resume.notice = std::chrono::seconds(*notice);
    }
    constexpr std::chrono::seconds most_notice{65'535};  // sbatch --signal takes no more
    if (resume.notice && (resume.notice->count() < 1 || *resume.notice > most_notice)) {
        refuse_job("E-CFG-011", job.where("slurm.resume.notice"),
                   fmt::format("slurm.resume.notice: got {} s, expected 1..{} s", resume.notice->count(),
                               most_notice.count()));
    }
    return resume;
}

}  // namespace

SlurmConfig build_slurm(const SettingsReader& job) {
    SlurmConfig slurm;
    for (const auto& [name, value] : slurm_names) {
        slurm.*value = job.get_or(fmt::format("slurm.{}", name), slurm.*value);
    }
    if (slurm.job_name.empty() || slurm.mpi.empty() || !is_memory(slurm.mem)) {
        const std::string key = slurm.job_name.empty() ? "slurm.job_name"
                                : slurm.mpi.empty()    ? "slurm.mpi"
                                                       : "slurm.mem";
        refuse_job(
            "E-CFG-016", job.where(key),
            key == "slurm.mem"
                ? fmt::format("slurm.mem: got {}, expected \"site\", \"0\" or a size as in \"480G\"", quoted(slurm.mem))
                : fmt::format("{}: got an empty name", key));
    }
    if (const auto* time = job.get<std::uint64_t>("slurm.time")) {
        slurm.time = std::chrono::seconds(*time);
        if (*time == 0) {
            refuse_job("E-CFG-015", job.where("slurm.time"), "slurm.time: got 0 s, expected a time limit");
        }
    }
    slurm.nodes = job.count("slurm.nodes").value_or(slurm.nodes);
    slurm.exclusive = job.get_or("slurm.exclusive", slurm.exclusive);
    slurm.gpu_request = job.choice("slurm.gpu_request", slurm.gpu_request, gpu_request_names);
    slurm.launcher = job.choice("slurm.launcher", slurm.launcher, launcher_names);
    slurm.comment = job.get_or("slurm.comment", slurm.comment);
    slurm.environment = job.get_or("slurm.environment", slurm.environment);
    slurm.skip = job.get_or("slurm.skip", slurm.skip);
    slurm.extra = job.get_or("slurm.extra", slurm.extra);
    check_environment(slurm, job);
    check_extra(slurm, job);
    slurm.resume = build_resume(job);
    return slurm;
}

}  // namespace sluice

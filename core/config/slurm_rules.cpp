#include <fmt/format.h>

#include <algorithm>

#include "core/config/rules.hpp"
#include "core/config/slurm_option.hpp"
#include "core/config/text.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// "site", "0", "480G". Slurm would take a number without a unit for megabytes.
bool is_memory(std::string_view text) {
    if (text == "site" || text == "0") {
        return true;
    }
    constexpr std::size_t most_digits = 12;
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view unit = text.substr(digits);
    return digits >= 1 && digits <= most_digits && text.front() != '0' &&
           (unit == "K" || unit == "M" || unit == "G" || unit == "T");
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

void check_environment(const SlurmConfig& slurm, const StatedJob& stated) {
    for (const std::string& name : slurm.environment) {
        const bool ours = name.starts_with("SLUICE_") || name.starts_with("SLURM_") || name.starts_with("SBATCH_") ||
                          name.starts_with("SRUN_");
        if (is_export_keyword(name)) {
            refuse_job("E-CFG-011", stated.where("slurm.environment"),
                       fmt::format("slurm.environment: got {}, a word of sbatch's --export, expected the name of an "
                                   "environment variable",
                                   quoted(name)),
                       "name each variable that the job needs");
        }
        if (!is_variable(name) || ours) {
            refuse_job("E-CFG-011", stated.where("slurm.environment"),
                       fmt::format("slurm.environment: got {}, expected {}", quoted(name),
                                   ours ? "a variable that is neither Slurm's nor sluice's"
                                        : "the name of an environment variable"));
        }
    }
}

void check_extra(const SlurmConfig& slurm, const StatedJob& stated) {
    for (const std::string& option : slurm.extra) {
        if (const std::string problem = problem_with_option(option); !problem.empty()) {
            refuse_job("E-CFG-016", stated.where("slurm.extra"), "slurm.extra: " + problem);
        }
    }
}

}  // namespace

void check_slurm(const SlurmConfig& slurm, const StatedJob& stated) {
    if (!is_memory(slurm.mem)) {
        refuse_job(
            "E-CFG-016", stated.where("slurm.mem"),
            fmt::format("slurm.mem: got {}, expected \"site\", \"0\" or a size as in \"480G\"", quoted(slurm.mem)));
    }
    if (slurm.time && slurm.time->count() == 0) {
        refuse_job("E-CFG-015", stated.where("slurm.time"), "slurm.time: got 0 s, expected a time limit");
    }
    check_environment(slurm, stated);
    check_extra(slurm, stated);
}

}  // namespace sluice

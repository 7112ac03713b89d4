#include "slurm/job_info.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "slurm/child.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds patience{20};
constexpr std::chrono::seconds patience_with_sacct{5};  // its database is often slow and only adds detail

constexpr int most_exit_codes = 255;  // some squeues print a wait() status instead

std::optional<int> number(std::string_view text) {
    const auto value = parse_number<int>(text);
    return value && *value >= 0 ? value : std::nullopt;
}

/// Output of the program; empty if it fails or is missing.
std::string answer_of(std::vector<std::string> words, const Submission& submission, std::chrono::seconds at_most) {
    if (!submission.cluster.empty()) {
        words.insert(words.begin() + 1, "--clusters=" + submission.cluster);
    }
    try {
        const std::optional<ChildResult> result = run_child(words, at_most);
        return result && result->exit_code == 0 ? result->out : std::string();
    } catch (const Error&) {  // a site may lack the program
        return {};
    }
}

}  // namespace

std::optional<JobInfo> parse_job_info(std::string_view state, std::string_view code) {
    const std::string_view word = state.substr(0, state.find_first_of(" +"));
    const std::size_t colon = code.find(':');
    const std::optional<int> exit_code = number(code.substr(0, colon));
    const std::optional<int> signal = colon == std::string_view::npos ? 0 : number(code.substr(colon + 1));
    const bool is_word = !word.empty() && std::all_of(word.begin(), word.end(),
                                                      [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    if (!is_word || !exit_code || !signal) {
        return std::nullopt;
    }
    if (colon == std::string_view::npos && *exit_code > most_exit_codes) {
        return JobInfo{
            .state = std::string(word), .exit_code = WEXITSTATUS(*exit_code), .signal = WTERMSIG(*exit_code)};
    }
    return JobInfo{.state = std::string(word), .exit_code = *exit_code, .signal = *signal};
}

std::optional<JobInfo> find_controller_info(const Submission& submission) {
    const std::string answer = answer_of(
        {"squeue", "--noheader", "--states=all", "--jobs=" + submission.job, "--Format=State:40,exit_code:20"},
        submission, patience);
    std::string_view line = answer;
    line.remove_prefix(line.starts_with("CLUSTER:") ? std::min(line.size(), line.find('\n') + 1) : 0);
    const std::string_view state = line.substr(0, line.find_first_of(" \n"));
    line.remove_prefix(std::min(line.find_first_not_of(' ', state.size()), line.size()));
    return parse_job_info(state, line.substr(0, line.find_first_of(" \n")));
}

std::optional<JobInfo> find_accounting_info(const Submission& submission) {
    const std::string answer = answer_of(
        {"sacct", "--noheader", "--parsable2", "--allocations", "--jobs=" + submission.job, "--format=State,ExitCode"},
        submission, patience_with_sacct);
    const std::string_view line = std::string_view(answer).substr(0, answer.find('\n'));
    const std::size_t bar = line.find('|');
    return bar == std::string_view::npos ? std::nullopt : parse_job_info(line.substr(0, bar), line.substr(bar + 1));
}

int code_of_ended_job(const std::string& job, const std::optional<JobInfo>& record,
                      const std::optional<RunStatus>& status) {
    constexpr int first_own_code = static_cast<int>(ExitCode::usage);
    constexpr int last_own_code = static_cast<int>(ExitCode::checkpoint_damaged);
    static constexpr std::array<std::string_view, 4> stopped_by_slurm{"CANCELLED", "TIMEOUT", "PREEMPTED", "DEADLINE"};
    if (record && record->signal == 0) {
        const bool own = record->exit_code >= first_own_code && record->exit_code <= last_own_code;
        if (own || record->state == "COMPLETED") {
            return record->exit_code;
        }
    }
    if (status && status->end && status->job == job) {
        return status->end->code;
    }
    const bool stopped =
        record && std::find(stopped_by_slurm.begin(), stopped_by_slurm.end(), record->state) != stopped_by_slurm.end();
    return static_cast<int>(stopped ? ExitCode::stopped_early : ExitCode::internal);
}

}  // namespace sluice

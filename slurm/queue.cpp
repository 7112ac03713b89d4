#include "slurm/queue.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include "core/commit/run_paths.hpp"
#include "core/error.hpp"
#include "core/text/parse.hpp"
#include "slurm/child.hpp"
#include "slurm/run_files.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds query_patience{20};
constexpr std::chrono::seconds patience_with_sacct{5};  // its database is often slow and only adds detail
constexpr const char* format = "%T|%e|%N|%r";           // a reason may have any text

constexpr int most_exit_codes = 255;  // some squeues print a wait() status instead

std::optional<int> number(std::string_view text) {
    const auto value = parse_number<int>(text);
    return value && *value >= 0 ? value : std::nullopt;
}

std::vector<std::string> for_cluster_of(const Submission& submission, std::vector<std::string> words) {
    if (!submission.cluster.empty()) {
        words.insert(words.begin() + 1, "--clusters=" + submission.cluster);
    }
    return words;
}

/// The value of a field of scontrol's: "StdOut=/a b/7.log Power=". It may have blanks. Empty: none.
std::string_view field_of(std::string_view record, std::string_view name) {
    const std::string mark = fmt::format(" {}=", name);
    const std::size_t at = record.find(mark);
    if (at == std::string_view::npos) {
        return {};
    }
    record.remove_prefix(at + mark.size());
    for (std::size_t blank = record.find(' '); blank != std::string_view::npos; blank = record.find(' ', blank + 1)) {
        const std::size_t next = record.find_first_of(" =", blank + 1);
        if (next != std::string_view::npos && record[next] == '=') {
            return record.substr(0, blank);
        }
    }
    return record.substr(0, record.find_last_not_of(' ') + 1);
}

/// Output of the program; empty if it fails or is missing.
std::string answer_of(const std::vector<std::string>& words, const Submission& submission,
                      std::chrono::seconds at_most) {
    try {
        const std::optional<ChildResult> result = run_child(for_cluster_of(submission, words), at_most);
        return result && result->exit_code == 0 ? result->out : std::string();
    } catch (const Error&) {  // a site may lack the program
        return {};
    }
}

}  // namespace

bool QueuedJob::is_active() const {
    static constexpr std::array<std::string_view, 9> over{"COMPLETED",     "FAILED",    "TIMEOUT",
                                                          "NODE_FAIL",     "PREEMPTED", "CANCELLED",
                                                          "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"};
    return std::find(over.begin(), over.end(), state) == over.end();
}

std::string QueuedJob::text() const {
    const bool has_reason = !reason.empty() && reason != "None";
    return escaped(state) + (has_reason ? fmt::format(" ({})", escaped(reason)) : "");
}

std::optional<QueuedJob> parse_queue_line(std::string_view line) {
    std::array<std::string, 4> fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::size_t end = i + 1 < fields.size() ? line.find('|') : line.size();
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        fields[i] = line.substr(0, end);
        line.remove_prefix(std::min(line.size(), end + 1));
    }
    if (fields[0].empty()) {
        return std::nullopt;
    }
    return QueuedJob{.state = fields[0], .reason = fields[3], .end = fields[1], .nodes = fields[2]};
}

std::filesystem::path folder_of_job(const std::string& job) {
    const std::optional<ChildResult> result = run_child({"scontrol", "--oneliner", "show", "job", job}, query_patience);
    if (result && knows_no_such_job(*result)) {
        return {};
    }
    if (!result || result->exit_code != 0) {
        throw no_answer("scontrol", result, query_patience);
    }
    const std::string_view record = line_of("JobId=" + job, result->out);
    const std::filesystem::path script = field_of(record, "Command");
    const std::filesystem::path log = field_of(record, "StdOut");
    for (const std::filesystem::path& folder : {script.parent_path(), log.parent_path().parent_path()}) {
        std::error_code unknown;  // not visible from here
        if (!folder.empty() && std::filesystem::exists(RunFiles{folder}.plan(), unknown)) {
            return folder;
        }
    }
    const bool is_ours = script == RunFiles{script.parent_path()}.script() &&
                         script.parent_path().filename().native().ends_with(run_folder_suffix);
    return is_ours ? script.parent_path() : std::filesystem::path();
}

std::string find_log(const Submission& submission) {
    const std::string answer =
        answer_of({"scontrol", "--oneliner", "show", "job", submission.job}, submission, query_patience);
    return std::string(field_of(line_of("JobId=" + submission.job, answer), "StdOut"));
}

std::optional<QueuedJob> find_in_queue(const Submission& submission) {
    const std::optional<ChildResult> result =
        run_child(for_cluster_of(submission, {"squeue", "--noheader", "--states=all", "--jobs=" + submission.job,
                                              fmt::format("--format={}", format)}),
                  query_patience);
    if (result && result->exit_code == 0) {
        std::string_view text = result->out;
        while (!text.empty()) {
            // With --clusters the first line is the cluster's name.
            const std::string_view line = take_until(text, '\n');
            if (auto job = parse_queue_line(line)) {
                return job;
            }
            if (!line.empty() && !line.starts_with("CLUSTER:")) {
                throw no_answer("squeue", fmt::format("says {}", quoted(line)));
            }
        }
        return std::nullopt;
    }
    if (result && knows_no_such_job(*result)) {
        return std::nullopt;
    }
    throw no_answer("squeue", result, query_patience);
}

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
    const bool is_wait_status = colon == std::string_view::npos && *exit_code > most_exit_codes;
    return JobInfo{.state = std::string(word),
                   .exit_code = is_wait_status ? WEXITSTATUS(*exit_code) : *exit_code,
                   .signal = *signal};
}

std::optional<JobInfo> find_controller_info(const Submission& submission) {
    const std::string answer = answer_of(
        {"squeue", "--noheader", "--states=all", "--jobs=" + submission.job, "--Format=State:40,exit_code:20"},
        submission, query_patience);
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

}  // namespace sluice

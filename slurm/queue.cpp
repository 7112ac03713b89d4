#include "slurm/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "slurm/child.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds query_patience{20};
constexpr const char* format = "%T|%r|%e|%N";

/// Whether Slurm does not, or no longer, know the job id.
bool knows_no_such_job(const ChildResult& result) {
    return result.exit_code != 0 && (result.err.find("Invalid job id") != std::string::npos ||
                                     result.err.find("Invalid job_id") != std::string::npos);
}

Error no_answer_of(const char* program, const std::optional<ChildResult>& result) {
    return {ExitCode::unavailable,
            {.id = "E-SLM-113",
             .where = program,
             .what = result ? fmt::format("failed with {}: {}", result->exit_code, complaint_of(*result))
                            : fmt::format("did not answer within {} s", query_patience.count()),
             .hint = "check with `sinfo` that Slurm's controller is up"}};
}

}  // namespace

bool QueuedJob::is_active() const {
    static constexpr std::array<std::string_view, 9> over{"COMPLETED",     "FAILED",    "TIMEOUT",
                                                          "NODE_FAIL",     "PREEMPTED", "CANCELLED",
                                                          "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"};
    return std::find(over.begin(), over.end(), state) == over.end();
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
    return QueuedJob{.state = fields[0], .reason = fields[1], .end = fields[2], .nodes = fields[3]};
}

std::filesystem::path folder_of_job(const std::string& job) {
    const std::optional<ChildResult> result = run_child({"scontrol", "--oneliner", "show", "job", job}, query_patience);
    if (result && knows_no_such_job(*result)) {
        return {};
    }
    if (!result || result->exit_code != 0) {
        throw no_answer_of("scontrol", result);
    }
    constexpr std::string_view mark = " StdOut=";
    const std::size_t at = result->out.find(mark);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + mark.size();
    const std::filesystem::path log = result->out.substr(begin, result->out.find_first_of(" \n", begin) - begin);
    const std::filesystem::path folder = log.parent_path().parent_path();
    std::error_code unknown;  // not visible from here
    return std::filesystem::exists(folder / "plan.toml", unknown) ? folder : std::filesystem::path();
}

std::optional<QueuedJob> find_in_queue(const Submission& submission) {
    std::vector<std::string> words{"squeue", "--noheader", "--states=all", "--jobs=" + submission.job,
                                   fmt::format("--format={}", format)};
    if (!submission.cluster.empty()) {
        words.push_back("--clusters=" + submission.cluster);
    }
    const std::optional<ChildResult> result = run_child(words, query_patience);
    if (result && result->exit_code == 0) {
        std::string_view text = result->out;
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            if (auto job = parse_queue_line(line)) {  // with --clusters the first line is the cluster's name
                return job;
            }
        }
        return std::nullopt;
    }
    if (result && knows_no_such_job(*result)) {
        return std::nullopt;
    }
    throw no_answer_of("squeue", result);
}

}  // namespace sluice

#include "slurm/status_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/config/slurm_option.hpp"
#include "core/error.hpp"
#include "core/text/program_name.hpp"
#include "core/text/wording.hpp"

namespace sluice {
namespace {

constexpr double stale_after = 15;
constexpr double longest_time = 1e9;
constexpr std::size_t most_rows = 32;

std::string whole_seconds_text(double seconds) {
    return duration_text(std::chrono::seconds(std::llround(std::clamp(seconds, 0.0, longest_time))));
}

/// `ended`: without saying so. Then more than it told may be committed, as where it failed: results may have been
/// committed while the process was ended.
std::string progress_line(const RunStatus& status, bool ended) {
    const ItemCount items{.done = status.items_done,
                          .total = status.items,
                          .before = status.items_before,
                          .is_estimated = status.items_estimated};
    const bool has_failed = status.state == RunState::failed && status.chunks_committed < status.chunks;
    const std::string committed =
        status.chunks_committed
            ? fmt::format(", {}{} committed", ended || has_failed ? "at least " : "", *status.chunks_committed)
            : std::string();
    return fmt::format("progress  {}; chunks {} of {} written{}\n", count_text(items, Percentage::shown),
                       status.chunks_done, status.chunks, committed);
}

std::string rate_line(const RunStatus& status) {
    std::string text = fmt::format("rate      {} items/s written, {} on average", rate_text(status.items_per_second),
                                   rate_text(status.mean_items_per_second));
    if (status.seconds_left) {
        text += fmt::format("; {} left", whole_seconds_text(*status.seconds_left));
    }
    return text + '\n';
}

std::string rank_rows(const RunStatus& status) {
    std::string text =
        "\nresults returned, which are then written in the order of the items:\n"
        "  rank    chunks         items     items/s   last result  host\n";
    const auto add_row = [&](std::size_t rank) {
        const RankStatus& row = status.ranks[rank];
        text += fmt::format("  {:>4}  {:>8}  {:>12}  {:>10}  {:>6.1f} s ago  {}{}\n", rank, row.chunks, row.items,
                            rate_text(row.items_per_second), row.seconds_since_chunk, escaped(row.host),
                            status.slowest == rank ? "  slowest" : "");
    };
    const std::size_t rows = std::min(status.ranks.size(), most_rows);
    for (std::size_t rank = 0; rank < rows; ++rank) {
        add_row(rank);
    }
    if (rows < status.ranks.size()) {
        if (status.slowest && *status.slowest >= rows && *status.slowest < status.ranks.size()) {
            add_row(*status.slowest);
        }
        text += fmt::format("  {} ranks in all; --json has every one\n", status.ranks.size());
    }
    return text;
}

bool is_queued(const RunView& view) {
    return view.queued && view.queued->is_active();
}

/// Whether the submitted job is a thing of the past: somebody has continued the run by hand.
bool is_past(const RunView& view) {
    return view.by_hand && view.trouble.empty() && !is_queued(view);
}

/// How the job of a status without an end is over by what Slurm says; empty: it does not say so.
std::string job_is_over(const RunView& view) {
    const bool is_its_job = !view.job.empty() && view.status->job == view.job;
    if (view.status->end || !is_its_job || is_queued(view)) {
        return {};
    }
    const std::string state = view.record ? view.record->state : view.queued ? view.queued->state : "";
    return !state.empty() ? fmt::format("its job has ended ({})", escaped(state))
           : view.asked   ? "its job has left the queue"
                          : "";
}

std::string state_line(const RunView& view) {
    const RunStatus& status = *view.status;
    std::string text = fmt::format("state     {}", name_of(status.state));
    if (status.end) {
        const std::string follows = what_follows(view);
        return text + fmt::format(", exit code {}{}{}\n", status.end->code, follows.empty() ? "" : "; ", follows);
    }
    if (const std::string over = job_is_over(view); !over.empty()) {
        text += fmt::format(" when last seen, {} ago: {}; `{} submit` resumes from what is committed",
                            whole_seconds_text(view.age), over, program_name());
    } else if (view.gone) {
        text += fmt::format(" when last seen, {} ago: its process is gone{}", whole_seconds_text(view.age),
                            view.job.empty() ? "; the same command resumes from what is committed" : "");
    } else if (is_stale(view)) {
        const bool is_suspended = view.queued && view.queued->state == "SUSPENDED";
        text += fmt::format(" when last seen, {} ago: {}", whole_seconds_text(view.age),
                            is_suspended ? "its job is suspended" : "it has ended or is stuck");
    } else {
        text += fmt::format(", {:.1f} s ago", view.age);
    }
    return text + '\n';
}

/// Of an output that was complete.
std::string missing_line(const RunView& view) {
    if (view.missing.empty()) {
        return {};
    }
    const std::size_t more = view.missing.size() - 1;
    return fmt::format("output    {} was published, but is missing{}\n", escaped(view.missing.front()),
                       more == 0 ? "" : fmt::format(", and {}", count_of(more, "other file")));
}

std::string attempt_line(const RunView& view) {
    const RunStatus& status = *view.status;
    const std::string after =
        is_past(view) ? fmt::format(", by hand; submitted before as job {}", view.job) : std::string();
    if (status.job.empty()) {
        return fmt::format("attempt   process {} on {}{}\n", status.process, escaped(status.host), after);
    }
    const std::string most = status.most_attempts ? fmt::format(" of at most {}", *status.most_attempts) : "";
    return fmt::format("attempt   {}{}, job {}, rank 0 on {}{}\n", status.attempt, most, escaped(status.job),
                       escaped(status.host), after);
}

std::string slurm_line(const RunView& view) {
    if (view.job.empty() || is_past(view)) {
        return {};
    }
    if (view.record) {
        const JobInfo& record = *view.record;
        const std::string signal = record.signal == 0 ? "" : fmt::format(", signal {}", record.signal);
        return fmt::format("Slurm     job {} {}, exit code {}{} (sacct)\n", view.job, record.state, record.exit_code,
                           signal);
    }
    if (!view.asked) {
        return fmt::format("Slurm     job {}; {}\n", view.job,
                           view.trouble.empty() ? "not asked" : escaped(view.trouble));
    }
    if (!view.queued) {
        return fmt::format("Slurm     job {} has left the queue\n", view.job);
    }
    const QueuedJob& job = *view.queued;
    std::string text = fmt::format("Slurm     job {} {}", view.job, job.text());
    if (!job.nodes.empty()) {
        text += fmt::format(" on {}", escaped(job.nodes));
    }
    return text + '\n';
}

std::string log_line(const RunView& view) {
    return view.log.empty() || is_past(view) ? std::string()
                                             : fmt::format("log       {}\n", escaped(view.log.native()));
}

std::string chain_line(const RunView& view) {
    return view.earlier.empty() || is_past(view)
               ? std::string()
               : fmt::format("          which continues after {}\n", fmt::join(view.earlier, ", "));
}

}  // namespace

bool is_done(const RunView& view) {
    const bool goes_on_by_hand = view.by_hand && !view.status->end && !view.gone && !is_stale(view);
    if (goes_on_by_hand) {
        return false;
    }
    if (view.queued) {
        return !view.queued->is_active();
    }
    if (view.asked) {
        return true;
    }
    const bool ended = view.status && view.status->end;
    if (view.job.empty()) {
        return ended || view.gone || (!view.status && view.owner.empty());
    }
    return ended && view.status->job == view.job && !is_followed(*view.status);
}

bool is_stale(const RunView& view) {
    return view.status && !view.status->end && view.age > stale_after;
}

std::string what_follows(const RunView& view) {
    const RunStatus& status = *view.status;
    const char* const resumes = !status.chunks_committed        ? "resumes from what is committed"
                                : *status.chunks_committed == 0 ? "starts from the beginning: nothing is committed yet"
                                                                : "resumes from there";
    if (is_queued(view) && view.job != status.job && status.state != RunState::complete) {
        return fmt::format("job {} {}", view.job, resumes);
    }
    if (!status.end->again) {
        return {};
    }
    if (is_followed(status)) {
        return view.asked && !is_queued(view)
                   ? fmt::format("no attempt follows: `{} submit` resumes from there", program_name())
                   : "the next attempt resumes from there";
    }
    if (!status.most_attempts) {
        return "the same command resumes from there";
    }
    const bool used_up = *status.most_attempts > 1;
    return fmt::format("{}`{} submit` resumes from there",
                       used_up ? "no attempt follows, slurm.resume.max is used up: " : "", program_name());
}

std::string status_text(const RunView& view) {
    const std::string owner = view.owner.empty() ? std::string() : fmt::format("owner     {}\n", view.owner);
    if (!view.status) {
        const std::string state = view.untold.empty() ? "no attempt has started" : view.untold;
        return fmt::format("{}state     {}\n{}{}", owner, state, slurm_line(view), log_line(view));
    }
    const RunStatus& status = *view.status;
    std::string text = owner + state_line(view) + missing_line(view) + attempt_line(view);
    const bool are_counted =
        status.items > 0 || (status.state != RunState::preparing && !status.end) || status.state == RunState::complete;
    const bool goes_on = !status.end && job_is_over(view).empty() && !view.gone;
    if (are_counted) {
        text += progress_line(status, !status.end && !goes_on);
    }
    if (goes_on && !is_stale(view) && status.state != RunState::preparing) {
        text += rate_line(status);
    }
    text += slurm_line(view) + chain_line(view) + log_line(view);
    if (status.end && !status.end->text.id.empty()) {
        text += "reason    " + render(status.end->text) + '\n';
    }
    return status.ranks.empty() || !goes_on ? text : text + rank_rows(status);
}

std::string status_json(const RunView& view) {
    std::vector<std::string> earlier = view.earlier;
    if (is_past(view)) {
        earlier.push_back(view.job);
    }
    nlohmann::ordered_json json{{"job", is_past(view) ? std::string() : view.job},
                                {"earlier_jobs", earlier},
                                {"stale", is_stale(view)},
                                {"gone", view.gone},
                                {"missing", view.missing}};
    json["log"] =
        view.log.empty() || is_past(view) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(view.log.native());
    if (!view.owner.empty()) {
        json["owner"] = view.owner;
    }
    json["status"] =
        view.status ? nlohmann::ordered_json::parse(encode(*view.status)) : nlohmann::ordered_json(nullptr);
    json["age_seconds"] = view.status ? nlohmann::ordered_json(view.age) : nlohmann::ordered_json(nullptr);
    json["slurm"] = nullptr;
    if (view.queued) {
        json["slurm"] = {{"state", view.queued->state}, {"reason", view.queued->reason}, {"nodes", view.queued->nodes}};
    }
    if (view.record) {
        json["slurm"] = {
            {"state", view.record->state}, {"exit_code", view.record->exit_code}, {"signal", view.record->signal}};
    }
    return escaped_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

}  // namespace sluice

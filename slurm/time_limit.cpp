#include "slurm/time_limit.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <ctime>

#include "core/error.hpp"
#include "core/machine/launch.hpp"
#include "core/text/parse.hpp"
#include "slurm/child.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds to_commit_and_leave{10};
constexpr double spare = 1.5;  // a chunk's time varies with its texts and with other network traffic

std::optional<std::int64_t> count_in(std::string_view text) {
    constexpr std::int64_t most = 1'000'000'000'000;
    const auto value = parse_number<std::int64_t>(text);
    return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

}  // namespace

std::optional<std::chrono::seconds> parse_time_left(std::string_view text) {
    while (text.ends_with('\n') || text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    std::int64_t days = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto value = count_in(text.substr(0, dash));
        if (!value) {
            return std::nullopt;
        }
        days = *value;
        text.remove_prefix(dash + 1);
    }
    std::int64_t seconds = 0;
    int parts = 0;
    for (bool more = true; more; ++parts) {
        const std::size_t colon = text.find(':');
        more = colon != std::string_view::npos;
        const auto value = count_in(text.substr(0, colon));
        if (!value || parts > 2) {
            return std::nullopt;
        }
        seconds = seconds * 60 + *value;
        text.remove_prefix(more ? colon + 1 : text.size());
    }
    constexpr std::int64_t day = 86'400;
    return parts < 2 ? std::nullopt : std::optional(std::chrono::seconds(days * day + seconds));
}

std::optional<std::chrono::seconds> ask_squeue_for_time_left(const std::string& job, const std::stop_token& stop) {
    const auto answer = run_child({"squeue", "--noheader", "--jobs=" + job, "--format=%A %L"}, squeue_patience, stop);
    if (answer && knows_no_such_job(*answer)) {
        return std::nullopt;
    }
    if (!answer || answer->exit_code != 0) {
        throw no_answer("squeue", answer, squeue_patience);
    }
    const std::string_view text = line_of(job, answer->out);
    if (text == "UNLIMITED" || answer->out.empty()) {
        return std::nullopt;
    }
    if (text == "INVALID") {  // less than nothing
        return std::chrono::seconds(0);
    }
    const auto left = parse_time_left(text);
    return left ? left : throw no_answer("squeue", fmt::format("says {}", quoted(answer->out)));
}

std::string take_end_time() {
    keep_environment();
    return own_variable("SLURM_JOB_END_TIME").value_or("");
}

std::optional<std::chrono::seconds> ask_time_left(const std::string& job, std::string_view end_time,
                                                  const std::stop_token& stop) {
    const auto now = static_cast<std::int64_t>(std::time(nullptr));
    if (const auto end = count_in(end_time); end && *end > now) {  // one that has passed may be another job's
        return std::chrono::seconds(*end - now);
    }
    return ask_squeue_for_time_left(job, stop);
}

bool is_too_late(Seconds left, Seconds slowest_chunk) {
    return left <= spare * slowest_chunk + to_commit_and_leave;
}

Instant end_of_chunks(Instant limit) {
    return limit - to_commit_and_leave / 2;
}

bool is_nearly_too_late(Seconds left, Seconds slowest_chunk) {
    return is_too_late(left - squeue_patience, slowest_chunk);
}

}  // namespace sluice

#include "core/config/slurm_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr int share_of_time = 20;  // as long as the notice is no shorter than Slurm's precision, both are a tenth
constexpr std::chrono::seconds most_by_itself{240};  // longer than most chunks take
constexpr int most_lost_without_word = 4;            // a quarter

}  // namespace

std::optional<std::chrono::seconds> notice_of(const SlurmConfig& slurm) {
    if (slurm.resume.notice) {
        return slurm.resume.notice;
    }
    if (!slurm.time || *slurm.time < share_of_time * signal_precision) {
        return std::nullopt;
    }
    return std::min(*slurm.time / share_of_time, most_by_itself);
}

std::string problem_with_notice(const SlurmConfig& slurm) {
    const std::optional<std::chrono::seconds> notice = notice_of(slurm);
    const bool is_skipped = std::find(slurm.skip.begin(), slurm.skip.end(), "signal") != slurm.skip.end();
    if (!notice || !slurm.time || is_skipped || most_lost_without_word * (*notice + signal_precision) <= *slurm.time) {
        return {};
    }
    return fmt::format("Slurm may stop an attempt {} s before its limit of {} s: {} s of notice, sent up to {} s early",
                       (*notice + signal_precision).count(), slurm.time->count(), notice->count(),
                       signal_precision.count());
}

}  // namespace sluice

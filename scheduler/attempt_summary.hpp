#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

namespace sluice {

/// What one attempt at a job has done and cost.
struct AttemptSummary {
    std::uint32_t number = 0;        ///< Its number in the run.
    std::string start{};             ///< As utc_text(); empty: not known.
    std::string end{};               ///< Of one that was killed: its last heartbeat.
    Seconds seconds{0};              ///< From the one to the other.
    std::optional<int> exit_code{};  ///< nullopt: it was killed, or has not ended yet.
    std::string ended_by{};          ///< What ended it before its end; may be empty.
    std::optional<std::uint32_t> ranks{};
    std::optional<std::uint32_t> devices{};
    std::uint64_t items_done = 0;  ///< By it alone.

    friend bool operator==(const AttemptSummary&, const AttemptSummary&) = default;
};

/// What all attempts together have done and cost. An item that was computed twice, because the first result was lost or
/// damaged, counts twice.
struct JobTotals {
    std::size_t attempts = 0;
    std::uint64_t items_done = 0;
    Seconds seconds{0};
    Seconds device_seconds{0};  ///< Of the attempts whose devices are known …
    bool devices_known = true;  ///< … which are all.
};
[[nodiscard]] JobTotals totals_of(std::span<const AttemptSummary> attempts);

/// In UTC, "2026-11-21T10:42:07Z".
[[nodiscard]] std::string utc_text(std::chrono::system_clock::time_point time);

[[nodiscard]] nlohmann::json to_json(const AttemptSummary& attempt);
[[nodiscard]] nlohmann::json to_json(const JobTotals& totals);

/// The attempts that a report's file lists; nullopt: it is none, or lists none.
[[nodiscard]] std::optional<std::vector<AttemptSummary>> attempts_in_report(std::string_view text);

}  // namespace sluice

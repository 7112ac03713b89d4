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
    std::uint32_t number = 0;        ///< Number of the attempt in the run.
    std::string start{};             ///< In the format of utc_text(); empty: unknown.
    std::string end{};               ///< If the attempt was killed, its last heartbeat.
    Seconds seconds{0};              ///< From `start` to `end`.
    std::optional<int> exit_code{};  ///< nullopt: killed, or still running.
    std::string ended_by{};          ///< What ended it early; may be empty.
    std::optional<std::uint32_t> ranks{};
    std::optional<std::uint32_t> devices{};
    std::uint64_t items_done = 0;  ///< In this attempt alone.

    friend bool operator==(const AttemptSummary&, const AttemptSummary&) = default;
};

/// Sums over all attempts. An item computed twice, because its first result was lost or damaged, counts twice.
struct JobTotals {
    std::size_t attempts = 0;
    std::uint64_t items_done = 0;
    Seconds seconds{0};
    Seconds device_seconds{0};  ///< Over the attempts whose number of devices is known.
    bool devices_known = true;  ///< For all attempts.
};
[[nodiscard]] JobTotals totals_of(std::span<const AttemptSummary> attempts);

/// UTC, as in "2026-11-21T10:42:07Z".
[[nodiscard]] std::string utc_text(std::chrono::system_clock::time_point time);

/// For the report.
void to_json(nlohmann::json& to, const AttemptSummary& attempt);

/// The attempts listed in `text`, a report file; nullopt if it is not a report or lists no attempts.
[[nodiscard]] std::optional<std::vector<AttemptSummary>> attempts_in_report(std::string_view text);

}  // namespace sluice

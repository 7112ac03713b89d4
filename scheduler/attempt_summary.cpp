#include "scheduler/attempt_summary.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/json_types.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

std::string text_in(const Json& json) {
    return json.is_null() ? std::string() : json.get<std::string>();
}

}  // namespace

void from_json(const Json& json, AttemptSummary& attempt) {
    attempt = {.number = json.at("attempt"),
               .start = text_in(json.at("start")),
               .end = text_in(json.at("end")),
               .seconds = Seconds(json.at("seconds").get<double>()),
               .exit_code = json.at("exit_code").get<std::optional<int>>(),
               .ended_by = text_in(json.at("ended_by")),
               .ranks = json.at("ranks").get<std::optional<std::uint32_t>>(),
               .devices = json.at("devices").get<std::optional<std::uint32_t>>(),
               .items_done = json.at("items_done")};
}

JobTotals totals_of(std::span<const AttemptSummary> attempts) {
    JobTotals totals{.attempts = attempts.size()};
    for (const AttemptSummary& attempt : attempts) {
        totals.items_done += attempt.items_done;
        totals.seconds += attempt.seconds;
        totals.device_seconds += attempt.seconds * attempt.devices.value_or(0);
        totals.devices_known = totals.devices_known && attempt.devices.has_value();
    }
    return totals;
}

std::string utc_text(std::chrono::system_clock::time_point time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void to_json(Json& to, const AttemptSummary& attempt) {
    to = {{"attempt", attempt.number},       {"start", or_null(attempt.start)},
          {"end", or_null(attempt.end)},     {"seconds", attempt.seconds.count()},
          {"exit_code", attempt.exit_code},  {"ended_by", or_null(attempt.ended_by)},
          {"ranks", attempt.ranks},          {"devices", attempt.devices},
          {"items_done", attempt.items_done}};
}

std::optional<std::vector<AttemptSummary>> attempts_in_report(std::string_view text) {
    try {
        return Json::parse(text).at("attempts").get<std::vector<AttemptSummary>>();
    } catch (const Json::exception&) {  // written by an earlier version, or damaged
        return std::nullopt;
    }
}

}  // namespace sluice

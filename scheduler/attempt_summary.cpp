#include "scheduler/attempt_summary.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using Json = nlohmann::json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

template <class Value>
std::optional<Value> number_in(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<Value>());
}

std::string text_in(const Json& json) {
    return json.is_null() ? std::string() : json.get<std::string>();
}

AttemptSummary attempt_of(const Json& json) {
    return {.number = json.at("attempt"),
            .start = text_in(json.at("start")),
            .end = text_in(json.at("end")),
            .seconds = Seconds(json.at("seconds").get<double>()),
            .exit_code = number_in<int>(json.at("exit_code")),
            .ended_by = text_in(json.at("ended_by")),
            .ranks = number_in<std::uint32_t>(json.at("ranks")),
            .devices = number_in<std::uint32_t>(json.at("devices")),
            .items_done = json.at("items_done")};
}

}  // namespace

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

Json to_json(const AttemptSummary& attempt) {
    return {{"attempt", attempt.number},
            {"start", or_null(attempt.start)},
            {"end", or_null(attempt.end)},
            {"seconds", attempt.seconds.count()},
            {"exit_code", or_null(attempt.exit_code)},
            {"ended_by", or_null(attempt.ended_by)},
            {"ranks", or_null(attempt.ranks)},
            {"devices", or_null(attempt.devices)},
            {"items_done", attempt.items_done}};
}

Json to_json(const JobTotals& totals) {
    return {{"attempts", totals.attempts},
            {"items_done", totals.items_done},
            {"seconds", totals.seconds.count()},
            {"device_seconds", totals.device_seconds.count()},
            {"devices_known", totals.devices_known}};
}

std::optional<std::vector<AttemptSummary>> attempts_in_report(std::string_view text) {
    try {
        std::vector<AttemptSummary> attempts;
        const Json report = Json::parse(text);
        for (const Json& attempt : report.at("attempts")) {
            attempts.push_back(attempt_of(attempt));
        }
        return attempts;
    } catch (const Json::exception&) {  // written by an earlier version, or damaged
        return std::nullopt;
    }
}

}  // namespace sluice

#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/report_conditions.hpp"

namespace sluice {

/// A number of two reports; nullopt: a report does not have it.
struct NumberPair {
    std::string name;
    std::optional<double> before{};
    std::optional<double> after{};

    /// (after - before) / before; nullopt if either is missing, or before is 0.
    [[nodiscard]] std::optional<double> change() const;
};

/// How one run differs from another, from their reports.
struct ReportDiff {
    NumberPair items;                    ///< Done by each.
    std::vector<NumberPair> times;       ///< Seconds: of the run, its start-up and its end.
    std::vector<NumberPair> rates;       ///< Items per second: of the whole run, and the steady one.
    std::vector<NumberPair> gpus;        ///< Mean clock and power of all GPUs; none on hosts.
    std::vector<Difference> conditions;  ///< Settings, input, program, machines, devices, chunks, how they ended.
    std::vector<NumberPair> capacities;  ///< Of each stage, items per second.
    std::vector<NumberPair> wall;        ///< Seconds of each row of rank 0's wall, the greatest change first.
    std::vector<NumberPair> devices;     ///< Items per second of each that computes, by rank, where both had it.
    std::string verdict_before{};
    std::string verdict_after{};
    std::vector<std::string> notes_before{};  ///< The verdict's.
    std::vector<std::string> notes_after{};
    std::vector<std::string> conclusions{};  ///< What the numbers come to, in words.
};

/// Compares two reports of docs/report.schema.json. Pure. Throws nlohmann::json::exception where one has another shape.
[[nodiscard]] ReportDiff diff_reports(const nlohmann::json& before, const nlohmann::json& after);

/// For people, with changes in percent.
[[nodiscard]] std::string diff_text(const ReportDiff& diff);

/// The same as an object, in seconds and items per second.
[[nodiscard]] nlohmann::ordered_json diff_json(const ReportDiff& diff);

}  // namespace sluice

#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// A report of docs/report.schema.json, and what it is called in messages.
struct ReportToScale {
    std::string name;
    nlohmann::json report;
};

/// How many times faster than the first point's something is, and that as a share of how many times more devices there
/// are: 1 is linear.
struct SpeedUp {
    double times = 1;
    double efficiency = 1;
};

/// The runs on as many nodes, ranks and devices. What is said of one run is of the middle one by its rate.
struct ScalePoint {
    std::size_t nodes;
    std::size_t ranks;
    std::size_t devices;
    std::size_t runs = 0;
    double wall = 0;                 ///< Seconds of the whole run.
    double rate = 0;                 ///< Items per second of the whole run.
    double spread = 0;               ///< Of the runs' rates: greatest less least, as a share of the middle one.
    std::optional<double> steady{};  ///< Items per second without start-up and end, if the report has it.
    SpeedUp whole_speed_up{};
    std::optional<SpeedUp> steady_speed_up{};
    /// Of the whole run on the first point's devices, the share that more devices do not shorten: (1/S - 1/p)/(1 - 1/p)
    /// at S times the speed on p times the devices (Karp, Flatt: Measuring parallel processor performance, 1990). Only
    /// where all runs did as many items; below 0 where the speed-up is more than linear.
    std::optional<double> serial{};
    std::string verdict{};
};

/// What runs of a job on different numbers of devices come to.
struct Scaling {
    std::vector<ScalePoint>
        points{};  ///< By devices, nodes and ranks, the fewest first. Speed-ups are against the first.
    std::vector<std::string> notes{};  ///< What makes the runs hard to compare.
};

/// Pure. Reports without a rate (nothing computed, or invalid timers) and those given before are left out, with a note;
/// without any there are no points. Throws nlohmann::json::exception where a report has another shape.
[[nodiscard]] Scaling scaling_of(std::span<const ReportToScale> reports);

/// For people.
[[nodiscard]] std::string scaling_text(const Scaling& scaling);

/// The same as an object, in seconds and items per second.
[[nodiscard]] nlohmann::ordered_json scaling_json(const Scaling& scaling);

}  // namespace sluice

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "scheduler/verdict.hpp"

namespace sluice {

/// What a run's devices could compute.
struct Roofline {
    double flop_per_item = 0;      ///< Of the app; 0: not known.
    std::optional<double> peak{};  ///< FLOP per second of one device, by a large matrix product; nullopt: not known.
    std::string note{};            ///< Why it is not; empty: it is.
};

/// What was computed, FLOP per second of a device, at the steady rate; nullopt: there is none, or no device computed.
[[nodiscard]] std::optional<double> achieved_flop(const Roofline& roofline, const Verdict& verdict,
                                                  std::size_t devices);

/// `flop_per_item`, `achieved` and `peak` of a device, and the `share`.
[[nodiscard]] nlohmann::json roofline_json(const Roofline& roofline, const Verdict& verdict, std::size_t devices);

/// "compute: 41.2 of 68.1 GFLOP/s a device (60.5 %)", a line of the full latency table; empty where nothing is known.
[[nodiscard]] std::string roofline_text(const Roofline& roofline, const Verdict& verdict, std::size_t devices);

}  // namespace sluice

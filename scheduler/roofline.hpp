#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/modes.hpp"
#include "scheduler/verdict.hpp"

namespace sluice {

/// What a run's devices could compute.
struct Roofline {
    double flop_per_item = 0;  ///< Of the app; 0: not known.
    /// What a matrix product is computed as: so many of that precision.
    Precision precision = Precision::fp32;
    std::uint32_t products = 1;
    std::optional<double> peak{};  ///< FLOP per second of one device, by large products of that; nullopt: not known.
    std::string note{};            ///< Why it is not; empty: it is.
};

/// What was computed, FLOP per second of a device, at the steady rate; nullopt: there is none, or no device computed.
[[nodiscard]] std::optional<double> achieved_flop(const Roofline& roofline, const Verdict& verdict,
                                                  std::size_t devices);

/// `flop_per_item`, `precision` and `products`, `achieved` and `peak` of a device, and the `share`.
[[nodiscard]] nlohmann::json roofline_json(const Roofline& roofline, const Verdict& verdict, std::size_t devices);

/// "compute: 41.2 of 68.1 GFLOP/s a device (60.5 %) in fp32", "… by 3 products in fp16 for one", a line of the full
/// latency table; empty where nothing is known.
[[nodiscard]] std::string roofline_text(const Roofline& roofline, const Verdict& verdict, std::size_t devices);

}  // namespace sluice

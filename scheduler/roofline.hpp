#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/modes.hpp"

namespace sluice {

struct Verdict;

/// Compute limit of a run's devices.
struct Roofline {
    double flop_per_item = 0;  ///< Of the app; 0: unknown.
    /// A matrix product is computed as `products` products in `precision`.
    Precision precision = Precision::fp32;
    std::uint32_t products = 1;
    std::optional<double> peak{};  ///< FLOP/s of one device on large products of that kind; nullopt: unknown.
    std::string note{};            ///< Why `peak` is unknown; empty: it is known.
};

/// Achieved FLOP/s per device at the steady rate; nullopt: no steady rate, or no device computed.
[[nodiscard]] std::optional<double> achieved_flop(const Roofline& roofline, const Verdict& verdict,
                                                  std::size_t devices);

/// `flop_per_item`, `precision`, `products`, `achieved` and `peak` per device, and `share`.
[[nodiscard]] nlohmann::json roofline_json(const Roofline& roofline, const Verdict& verdict, std::size_t devices);

/// A line of the full latency table: "compute: 41.2 of 68.1 GFLOP/s a device (60.5 %) in fp32", "… by 3 products in
/// fp16 for one"; empty if nothing is known.
[[nodiscard]] std::string roofline_text(const Roofline& roofline, const Verdict& verdict, std::size_t devices);

}  // namespace sluice

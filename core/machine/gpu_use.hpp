#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/machine/nvml.hpp"

namespace sluice {

/// Why a GPU's clocks are lower than they could be: a bit of GpuReading::limits (nvml.h, nvmlClocksEventReasons).
struct GpuLimit {
    std::uint64_t bit;
    std::string_view name;
    std::string_view meaning;  ///< Completes "was … in 40 % of the samples"; empty: does not slow work down.
};
inline constexpr std::array<GpuLimit, 9> gpu_limits{{{0x1, "idle", ""},
                                                     {0x2, "application_clocks", "held at clocks that somebody set"},
                                                     {0x4, "power_cap", "power-limited"},
                                                     {0x8, "hardware", "slowed down by its hardware"},
                                                     {0x10, "sync_boost", "held at the clocks of other GPUs"},
                                                     {0x20, "thermal_software", "slowed down by heat (driver)"},
                                                     {0x40, "thermal_hardware", "slowed down by heat (hardware)"},
                                                     {0x80, "power_brake", "slowed down by its node's power supply"},
                                                     {0x100, "display_clocks", ""}}};

/// In MHz, over some samples.
struct GpuClock {
    double least = 0;
    double mean = 0;
    double most = 0;
    friend bool operator==(const GpuClock&, const GpuClock&) = default;
};

/// Use of a GPU while it was sampled. Unknown values are nullopt or empty, never 0.
struct GpuUse {
    std::string gpu{};  ///< Its UUID, else its address.
    std::uint64_t samples = 0;
    std::chrono::nanoseconds time{0};  ///< From the first sample to the last.
    std::optional<GpuClock> clock_mhz{};
    std::optional<double> watts{};       ///< Mean.
    std::optional<double> joules{};      ///< During `time`.
    bool joules_are_counted = false;     ///< Counted by the GPU; otherwise integrated from the samples' power.
    std::vector<double> limit_shares{};  ///< Shares of the samples, in the order of gpu_limits; empty: unknown.
    friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

/// Use of a rank's GPUs; `note` says why something is unknown; empty: nothing is.
struct GpuUses {
    std::vector<GpuUse> gpus{};
    std::string note{};
    friend bool operator==(const GpuUses&, const GpuUses&) = default;
};

/// Combines samples of one GPU.
class GpuUseBuilder {
public:
    explicit GpuUseBuilder(std::string gpu) { use_.gpu = std::move(gpu); }

    /// The first or last sample, of which only the energy counts, since the GPU may be idle.
    void mark(const GpuReading& reading, Instant at);
    void add(const GpuReading& reading, Instant at);

    [[nodiscard]] GpuUse use() const;

private:
    struct Mean {
        double sum = 0;
        std::uint64_t count = 0;
    };

    GpuUse use_{};
    std::optional<Instant> begin_{};
    Instant end_{};
    std::optional<double> first_joules_{};
    std::optional<double> last_joules_{};
    std::optional<GpuClock> clock_{};
    Mean clock_mean_{};
    Mean watts_{};
    std::array<std::uint64_t, gpu_limits.size()> limits_{};
    std::uint64_t limit_samples_ = 0;
};

}  // namespace sluice

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"
#include "scheduler/steady_stretch.hpp"

namespace sluice {

/// Totals of one stage on one rank. Intervals are clipped to the run.
struct StageTotals {
    std::chrono::nanoseconds busy{0};     ///< Summed over devices and threads, so it may exceed the run.
    std::chrono::nanoseconds active{0};   ///< With at least one of them busy.
    std::chrono::nanoseconds exposed{0};  ///< Part of `active` in which no other stage of the rank is active.
    std::uint64_t chunks = 0;             ///< Recorded intervals; a thread may split a chunk into several.
    std::uint64_t items = 0;
    friend bool operator==(const StageTotals&, const StageTotals&) = default;

    /// Part of `active` in which another stage is active too.
    [[nodiscard]] std::chrono::nanoseconds hidden() const noexcept { return active - exposed; }
};

/// Totals of one device or host thread at one stage; a stage's capacity is computed from them.
struct InstanceTotals {
    Stage stage = Stage::compute;
    std::string name{};  ///< "device 0 (host)", "reader 1"; shared by the stages that a thread alternates between.
    std::chrono::nanoseconds busy{0};  ///< With at least one operation in progress, so never longer than the run.
    std::uint64_t items = 0;
    bool of_device = false;                             ///< Not of a host thread that serves several.
    std::uint64_t bytes = 0;                            ///< Moved; 0: none, or not recorded.
    std::optional<std::chrono::nanoseconds> delayed{};  ///< Time in which its thread was runnable but had no CPU.
    std::optional<SteadyStretch> steady{};              ///< Only of devices that computed at least two chunks.
    friend bool operator==(const InstanceTotals&, const InstanceTotals&) = default;
};

/// Assigns each instant of the run to exactly one row: to `suspended` if the process did not run, to a stage if it
/// alone is active, to `overlapped` if several are, else to the first active phase, else to `waiting`. The rows add up
/// to the run exactly.
struct WallView {
    std::array<std::chrono::nanoseconds, stage_count> stages{};  ///< StageTotals::exposed, indexed by index_of(stage).
    std::chrono::nanoseconds overlapped{0};
    std::array<std::chrono::nanoseconds, phase_count> phases{};  ///< Indexed by Phase.
    std::chrono::nanoseconds waiting{0};
    std::chrono::nanoseconds suspended{0};
    [[nodiscard]] std::chrono::nanoseconds total() const noexcept;
    friend bool operator==(const WallView&, const WallView&) = default;
};

/// Where one rank's time went. While it was suspended nothing was busy, active or under way. Scatter is the work of the
/// rank that copies the items, and rank 0's for ranks that get messages; gather is rank 0's. The time that other ranks
/// wait for items, or for their results to be accepted, is not counted as work.
struct Breakdown {
    std::chrono::nanoseconds run{0};                ///< finish - start, suspensions included.
    std::array<StageTotals, stage_count> stages{};  ///< By index_of(stage).
    WallView wall;
    std::vector<InstanceTotals> instances;
    std::chrono::nanoseconds receiving{0};   ///< On ranks other than 0: items of at least one chunk in transit.
    std::optional<SteadyStretch> written{};  ///< Of the writing rank, if it has written a chunk.
    std::string invalid;  ///< Why the timers cannot be trusted; all other members are empty then. "" if they can.

    [[nodiscard]] const StageTotals& at(Stage stage) const noexcept { return stages[index_of(stage)]; }
    friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

/// InstanceTotals::name of a device.
[[nodiscard]] std::string device_name(const RankTrace& trace, std::size_t device);

/// Pure; O(n log n) for n intervals.
[[nodiscard]] Breakdown break_down(const RankTrace& trace);

}  // namespace sluice

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

/// One stage on one rank. Only the part of an interval that lies in the run counts.
struct StageTotals {
    std::chrono::nanoseconds busy{0};     ///< Summed over devices and threads, so it may exceed the run.
    std::chrono::nanoseconds active{0};   ///< With at least one of them at work.
    std::chrono::nanoseconds exposed{0};  ///< Of that, with no other stage of the rank at work.
    std::uint64_t chunks = 0;             ///< Intervals that happened; a thread may cut a chunk into several.
    std::uint64_t items = 0;
    friend bool operator==(const StageTotals&, const StageTotals&) = default;

    /// Of the active time, with another stage at work too.
    [[nodiscard]] std::chrono::nanoseconds hidden() const noexcept { return active - exposed; }
};

/// One device or host thread at one stage: what the capacity of the stage is made of.
struct InstanceTotals {
    Stage stage = Stage::compute;
    std::string name{};  ///< "device 0 (host)", "reader 1": two stages of one thread share the name, and take turns.
    std::chrono::nanoseconds busy{0};  ///< With at least one piece of work under way, so it never exceeds the run.
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;                            ///< 0: not counted.
    std::optional<std::chrono::nanoseconds> delayed{};  ///< Its thread could have run then, but had no CPU.
    std::optional<SteadyStretch> steady{};              ///< Of a device that computed two chunks or more.
    friend bool operator==(const InstanceTotals&, const InstanceTotals&) = default;
};

/// Each instant of the run, given to exactly one row: to a stage if only that one is at work, to `overlapped` if
/// several are, else to the first phase that is under way, else to `waiting`. The rows add up to the run, exactly.
struct WallView {
    std::array<std::chrono::nanoseconds, stage_count> stages{};  ///< By index_of(stage): StageTotals::exposed.
    std::chrono::nanoseconds overlapped{0};
    std::array<std::chrono::nanoseconds, phase_count> phases{};  ///< By the phase's number.
    std::chrono::nanoseconds waiting{0};
    [[nodiscard]] std::chrono::nanoseconds total() const noexcept;
    friend bool operator==(const WallView&, const WallView&) = default;
};

/// Where one rank's time went. Scatter and gather are rank 0's, which does them for all; how long other ranks wait for
/// items, or for their results to be taken, is no work of theirs.
struct Breakdown {
    std::chrono::nanoseconds run{0};                ///< finish - start
    std::array<StageTotals, stage_count> stages{};  ///< By index_of(stage).
    WallView wall;
    std::vector<InstanceTotals> instances;
    std::chrono::nanoseconds receiving{0};   ///< On other ranks than 0: with items of at least one chunk on their way.
    std::optional<SteadyStretch> written{};  ///< Of the rank that writes, if it has written any.
    std::string invalid;  ///< Why the timers cannot be trusted, and all other members are empty; "" when they can.

    [[nodiscard]] const StageTotals& at(Stage stage) const noexcept { return stages[index_of(stage)]; }
    friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

/// Pure; O(n log n) in the number of intervals.
[[nodiscard]] Breakdown break_down(const RankTrace& trace);

}  // namespace sluice

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"

namespace sluice {

/// One stage on one rank. Only the part of an interval that lies in the run counts.
struct StageTotals {
    std::chrono::nanoseconds busy{0};     ///< Summed over devices and threads, so it may exceed the run.
    std::chrono::nanoseconds active{0};   ///< With at least one of them at work.
    std::chrono::nanoseconds waiting{0};  ///< The rest of the run: active + waiting == run.
    std::uint64_t chunks = 0;             ///< Intervals that happened; a thread may cut a chunk into several.
    std::uint64_t items = 0;
    friend bool operator==(const StageTotals&, const StageTotals&) = default;
};

/// One device or host thread at one stage: what the capacity of the stage is made of.
struct InstanceTotals {
    Stage stage = Stage::compute;
    std::string name{};                ///< "device 0 (host)", "read 1".
    std::chrono::nanoseconds busy{0};  ///< With at least one piece of work under way, so it never exceeds the run.
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;  ///< 0: not counted.
    friend bool operator==(const InstanceTotals&, const InstanceTotals&) = default;
};

/// Each instant of the run, given to exactly one row: to the first stage at work in the order compute, download,
/// upload, gather, scatter, write, read; if none is, to `startup` until the devices are ready, else to `waiting`. A
/// stage that is hidden behind another shows 0. The rows add up to the run, exactly.
struct WallView {
    std::array<std::chrono::nanoseconds, stage_count> stages{};  ///< By index_of(stage).
    std::chrono::nanoseconds startup{0};
    std::chrono::nanoseconds waiting{0};
    [[nodiscard]] std::chrono::nanoseconds total() const noexcept;
    friend bool operator==(const WallView&, const WallView&) = default;
};

/// The order in which the wall view hands out time.
inline constexpr std::array<Stage, stage_count> wall_order{
    Stage::compute, Stage::download, Stage::upload, Stage::gather, Stage::scatter, Stage::write, Stage::read};

/// Where one rank's time went. Scatter and gather are its threads' where they recorded any (rank 0: the time spent on
/// sending and receiving), elsewhere its devices' (which includes the time that rank 0 took to answer).
struct Breakdown {
    std::chrono::nanoseconds run{0};                ///< finish - start
    std::array<StageTotals, stage_count> stages{};  ///< By index_of(stage).
    WallView wall;
    std::vector<InstanceTotals> instances;
    std::string invalid;  ///< Why the timers cannot be trusted, and all other members are empty; "" when they can.

    [[nodiscard]] const StageTotals& at(Stage stage) const noexcept { return stages[index_of(stage)]; }
    friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

/// Pure; O(n log n) in the number of intervals.
[[nodiscard]] Breakdown break_down(const RankTrace& trace);

}  // namespace sluice

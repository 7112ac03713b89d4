#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"
#include "scheduler/gpu_cost.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/resources.hpp"
#include "scheduler/what_if.hpp"

namespace sluice {

/// A device that computes clearly slower than the others: its items over its busy time against the median.
struct Straggler {
    int rank = 0;
    std::string name{};  ///< "device 1 (host)"
    double rate = 0;     ///< Items a second.
    double usual = 0;    ///< The median's.
    double cost = 0;     ///< Seconds by which the run would be shorter if it were as fast as the others.
};

/// Threads of a stage that could have run, but had no CPU.
struct Contention {
    Stage stage = Stage::compute;
    double share = 0;  ///< Of their busy time.
};

/// A rank whose cgroup used its CPU quota up.
struct Throttled {
    int rank = 0;
    std::string host{};
    CpuThrottling by_quota{};
};

enum class Bound : std::uint8_t {
    stage,    ///< Verdict::binding does.
    startup,  ///< What comes before the first chunk takes longer than the chunks.
    end,      ///< What comes after the last one does.
    nothing,  ///< No resource is at work most of the time.
    unknown,  ///< Nothing to do, nothing recorded, or the timers are invalid.
};

/// Which resource binds the run. Rates are items per second.
///
/// A resource is a device's engine, or a host thread with all its stages: reading and parsing take turns in a reader,
/// writing and committing in the writer. Its capacity is items / busy time, what it would do if it never waited; those
/// of the same kind add up, but with fixed distribution the slowest decides. The kind of least capacity binds, by the
/// stage that it spends most of its time on, if the steady rate comes close to it.
struct Verdict {
    std::array<std::optional<double>, stage_count> capacity{};  ///< By index_of(stage), each by itself.
    Bound bound = Bound::unknown;
    std::optional<Stage> binding{};  ///< Of least capacity, whether or not it binds; nullopt: nothing was recorded.
    std::optional<int> rank{};       ///< Of the one device that decides, where they differ.
    double achieved = 0;             ///< Of the whole run.
    double steady = 0;               ///< Of the devices, or of the writer where it is behind; SteadyStretch.
    double achievable = 0;           ///< The binding resource's capacity.
    double share = 0;                ///< steady / achievable
    double startup = 0;              ///< Seconds before the first chunk's compute.
    double end = 0;                  ///< Seconds after the last chunk was written.
    std::vector<Straggler> stragglers{};
    std::vector<Contention> contended{};
    std::optional<Throttled> throttled{};  ///< The rank that lost most by it, where that mattered.
    std::vector<GpuLimited> gpu_limits{};  ///< What held GPUs' clocks down.
    std::vector<WhatIf> what_if{};         ///< Best first; empty where the replay does not give the run as it was.
    double replayed = 0;                   ///< The serving time by replay over the measured one; 0: not replayed.
    std::vector<std::string> notes;        ///< What to change, each "NOTE: …".
    std::string line;                      ///< "compute on rank 2 binds: 812 of 840 items/s (96.7 %)"
};

/// Pure.
[[nodiscard]] Verdict judge(const JudgedRun& run);

/// The run's length: from the first rank's start to the last one's finish.
[[nodiscard]] std::chrono::nanoseconds wall_time(std::span<const RankReport> ranks);

/// "0.0123", "8.33", "44.2", "812", "1250000": without a unit, as all numbers of the table.
[[nodiscard]] std::string rate_text(double per_second);

/// "1.85 s", "23.4 ms", "512 µs": three significant digits.
[[nodiscard]] std::string time_text(double seconds);

}  // namespace sluice

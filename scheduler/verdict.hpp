#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/trace/trace.hpp"
#include "scheduler/gpu_cost.hpp"
#include "scheduler/rank_report.hpp"
#include "scheduler/resources.hpp"
#include "scheduler/tail.hpp"
#include "scheduler/what_if.hpp"

namespace sluice {

/// A device that is clearly slower than the others, by its items over busy time against the median.
struct Straggler {
    int rank = 0;
    std::string name{};  ///< "device 1 (host)"
    double rate = 0;     ///< Items a second.
    double usual = 0;    ///< Of the median device.
    double cost = 0;     ///< Seconds by which the run would be shorter if it were as fast as the others.
};

/// Threads of a stage that were runnable but had no CPU.
struct Contention {
    Stage stage = Stage::compute;
    double share = 0;  ///< Of their busy time.
};

/// A rank whose cgroup exhausted its CPU quota.
struct Throttled {
    int rank = 0;
    std::string host{};
    CpuThrottling by_quota{};
};

enum class Bound : std::uint8_t {
    stage,    ///< Verdict::binding does.
    startup,  ///< Before the first chunk: more than half of the run.
    end,      ///< After the last chunk: more than half of the run.
    tail,     ///< Devices that wait for the last one cost more than a fifth of the time between start-up and end.
    nothing,  ///< No resource comes close to its capacity.
    unknown,  ///< Nothing to do, nothing recorded, or the timers are invalid.
};
template <>
inline constexpr std::array<std::string_view, 6> words_of<Bound>{"stage", "startup", "end",
                                                                 "tail",  "nothing", "unknown"};

/// Which resource binds the run. Rates are items per second.
///
/// A resource is a device's engine, or a host thread with all its stages: a reader alternates between reading and
/// parsing, the writer between writing and committing. Its capacity is items / busy time, its rate if it never waited;
/// capacities of one kind add up, but with fixed distribution the slowest decides. The kind of least capacity binds if
/// the steady rate comes close to it, and is named by the stage that it spends most of its time on.
struct Verdict {
    std::array<std::optional<double>, stage_count> capacity{};  ///< By index_of(stage), each stage on its own.
    Bound bound = Bound::unknown;
    /// Stage of least capacity, even if it does not bind; nullopt: nothing was recorded.
    std::optional<Stage> binding{};
    const ResourceKind* resource = nullptr;  ///< Whose stage that is.
    std::optional<int> rank{};               ///< Rank of the one device that decides, where devices differ.
    double achieved = 0;                     ///< Of the whole run.
    double steady = 0;           ///< Of the devices if they have the least capacity, else of the writer; <= achievable.
    double achievable = 0;       ///< The binding resource's capacity.
    double share = 0;            ///< steady / achievable, at most 1
    double startup = 0;          ///< Seconds before the first chunk's compute, without `suspended`.
    double end = 0;              ///< Seconds after the last chunk was written, likewise.
    std::optional<Tail> tail{};  ///< If it costs 5 % of the run or more.
    double suspended = 0;        ///< Seconds of the run in which rank 0 did not run.
    std::vector<Straggler> stragglers{};
    std::vector<Contention> contended{};
    std::optional<Throttled> throttled{};  ///< The rank that lost the most time, if that mattered.
    std::vector<GpuLimited> gpu_limits{};  ///< What reduced the GPUs' clocks.
    std::vector<WhatIf> what_if{};         ///< Best first; empty if the replay does not match the run.
    double replayed = 0;                   ///< Replayed over measured serving time; 0: not replayed.
    std::vector<std::string> notes;        ///< Advice, each "NOTE: …".
    std::string line;                      ///< "compute on rank 2 binds: 812 of 840 items/s (96.7 %)"
};

/// For the report. Schema: docs/latency-table.md.
void to_json(nlohmann::json& json, const Verdict& verdict);

/// Unknown when ranks are lost. Pure.
[[nodiscard]] Verdict judge(const RunReport& run);

/// Whether `stage` is short of host CPUs, so that neither faster code nor more devices would help.
[[nodiscard]] bool lacks_cpu(const Verdict& verdict, Stage stage, DeviceKind device);

/// Adds observations and advice to the verdict, never advice that is already followed. The last step of judge().
void add_notes(Verdict& verdict, const RunReport& run);

/// The run's length: from the first rank's start to the last one's finish.
[[nodiscard]] std::chrono::nanoseconds wall_time(std::span<const RankReport> ranks);

}  // namespace sluice

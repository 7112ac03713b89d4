#include "scheduler/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "scheduler/replay.hpp"

namespace sluice {
namespace {

using std::chrono::nanoseconds;

constexpr double telling_gain = 0.03;  // of the run; smaller gains are not listed
constexpr double replay_error = 0.25;  // beyond, the replay does not match the run
constexpr std::size_t most_what_ifs = 3;

std::optional<ReplayPlan> plan_of(const RunReport& run) {
    ReplayPlan plan{.items = run.items_done,
                    .chunk_items = run.chunk_items,
                    .depth = run.depth,
                    .staged = run.queues.staged,
                    .window = run.queues.window,
                    .mode = run.mode,
                    .distribution = run.distribution,
                    .devices = {}};
    const std::vector<Instance> reading = instances_of(run.ranks, resource_kinds::readers);
    plan.readers = static_cast<std::uint32_t>(std::max<std::size_t>(1, reading.size()));
    plan.read = mean_time(reading);
    plan.scatter = mean_time(instances_of(run.ranks, resource_kinds::link));
    plan.gather = mean_time(instances_of(run.ranks, resource_kinds::link_back));
    plan.write = mean_time(instances_of(run.ranks, resource_kinds::writer));
    for (const RankReport& rank : run.ranks) {
        std::ranges::remove_copy_if(rank.device_chunks, std::back_inserter(plan.devices),
                                    [](const auto& chunks) { return chunks.empty(); });
    }
    return plan.devices.empty() ? std::nullopt : std::optional(std::move(plan));
}

void speed_up(ReplayPlan& plan, nanoseconds ChunkDurations::*stage) {
    for (std::vector<ChunkDurations>& chunks : plan.devices) {
        for (ChunkDurations& times : chunks) {
            times.*stage /= 2;
        }
    }
}

/// Half of the stage's part of mean_time(): its threads are of `kind`.
double half_of(Stage stage, const RunReport& run, const ResourceKind& kind) {
    double busy = 0;
    double items = 0;
    for (const Instance& instance : instances_of(run.ranks, kind)) {
        busy += Seconds(instance.of_stage[stage == *kind.stages[0] ? 0 : 1]).count();
        items += static_cast<double>(instance.items);
    }
    return items == 0 ? 0 : busy / items / 2;
}

ReplayPlan without_half_of(const ReplayPlan& plan, const RunReport& run, Stage stage) {
    ReplayPlan faster = plan;
    switch (stage) {
        case Stage::read:
        case Stage::parse:
            faster.read = std::max(0.0, faster.read - half_of(stage, run, resource_kinds::readers));
            break;
        case Stage::scatter:
            faster.scatter /= 2;
            for (std::vector<ChunkDurations>& chunks : faster.devices) {
                for (ChunkDurations& times : chunks) {
                    times.copy = times.copy ? std::optional(*times.copy / 2) : std::nullopt;
                }
            }
            break;
        case Stage::upload:
            speed_up(faster, &ChunkDurations::upload);
            break;
        case Stage::compute:
            speed_up(faster, &ChunkDurations::compute);
            break;
        case Stage::download:
            speed_up(faster, &ChunkDurations::download);
            break;
        case Stage::gather:
            faster.gather /= 2;
            break;
        case Stage::write:
        case Stage::commit:
            faster.write = std::max(0.0, faster.write - half_of(stage, run, resource_kinds::writer));
            break;
    }
    return faster;
}

bool is_of_links(Stage stage, std::size_t ranks) {
    return std::ranges::any_of(kinds_of_run(ranks),
                               [&](const ResourceKind* kind) { return kind->includes_waits && does(*kind, stage); });
}

}  // namespace

Prediction predict_changes(const RunReport& run, const RunTimes& times, const Considered& considered) {
    Prediction prediction;
    const std::optional<ReplayPlan> plan = plan_of(run);
    if (!plan || times.serving <= 0) {
        return prediction;
    }
    const double base = replay(*plan);
    prediction.replayed = base / times.serving;
    if (base <= 0 || std::abs(prediction.replayed - 1) > replay_error) {
        return prediction;
    }
    const auto consider = [&](std::string change, double whole) {
        if (whole <= times.whole() * (1 - telling_gain)) {
            prediction.changes.push_back({.change = std::move(change), .seconds = whole});
        }
    };
    const auto with = [&](const ReplayPlan& changed) {
        return times.startup + times.serving * replay(changed) / base + times.end;
    };
    for (const Stage stage : all_stages) {
        const bool is_known = considered.links || !is_of_links(stage, run.ranks.size());
        if (is_known && !instances_of(run.ranks, {.name = {}, .stages = {stage}}).empty()) {
            consider(fmt::format("{} 2 x faster", to_string(stage)), with(without_half_of(*plan, run, stage)));
        }
    }
    if (considered.devices) {
        ReplayPlan twice = *plan;
        twice.devices.insert(twice.devices.end(), plan->devices.begin(), plan->devices.end());
        consider(run.device == DeviceKind::host ? "twice the devices, on cores of their own" : "twice the devices",
                 with(twice));
    }
    consider("no start-up", times.whole() - times.startup);
    std::ranges::stable_sort(prediction.changes, {}, &WhatIf::seconds);
    prediction.changes.resize(std::min(prediction.changes.size(), most_what_ifs));
    return prediction;
}

}  // namespace sluice

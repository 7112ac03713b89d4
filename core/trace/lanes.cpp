#include "core/trace/lanes.hpp"

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

std::string what_a_device_waits_for(Stage stage, const std::string& chunk) {
    return stage == Stage::gather ? "waits for rank 0 to take the results of" + chunk : "waits for a chunk";
}

}  // namespace

Lane::State Lane::state() const noexcept {
    return {.doing = doing_.load(std::memory_order_relaxed),
            .stage = stage_.load(std::memory_order_relaxed),
            .chunk = chunk_.load(std::memory_order_relaxed),
            .moves = moves_.load(std::memory_order_relaxed),
            .p99_ns = chunk_times_.p99()};
}

Lane& Lanes::add(LaneKind kind, std::string name) {
    return add(kind, std::move(name), new_group());
}

Lane& Lanes::add(LaneKind kind, std::string name, std::uint32_t group) {
    const std::lock_guard lock(mutex_);
    return entries_.emplace_back(kind, std::move(name), group).lane;
}

std::uint32_t Lanes::new_group() {
    const std::lock_guard lock(mutex_);
    return groups_++;
}

std::vector<Lanes::View> Lanes::look() const {
    const std::lock_guard lock(mutex_);
    std::vector<View> views;
    views.reserve(entries_.size());
    for (const Entry& entry : entries_) {
        views.push_back({.kind = entry.kind, .name = entry.name, .group = entry.group, .state = entry.lane.state()});
    }
    return views;
}

std::string describe(const Lanes::View& lane) {
    const Lane::State& state = lane.state;
    if (state.doing == Lane::Doing::nothing) {
        return lane.name + ": has ended";
    }
    const bool works = state.doing == Lane::Doing::work;
    const std::string chunk = state.chunk == Lane::no_chunk ? std::string() : fmt::format(" chunk {}", state.chunk);
    std::string doing;
    switch (lane.kind) {
        case LaneKind::comm:
            doing = works ? "is exchanging messages" : "waits for messages";
            break;
        case LaneKind::reader:
            doing = (works ? "reads" : "waits for room for") + chunk;
            break;
        case LaneKind::writer:
            doing = (works ? "writes" : "waits for the results of") + chunk;
            break;
        case LaneKind::device:
            doing = works ? "computes" + chunk : what_a_device_waits_for(state.stage, chunk);
            break;
        case LaneKind::stream:
            doing = works ? "is working" : "is idle";
            break;
    }
    return fmt::format("{}: {}", lane.name, doing);
}

}  // namespace sluice

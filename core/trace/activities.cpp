#include "core/trace/activities.hpp"

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

std::string what_a_device_does(Stage stage, const std::string& chunk) {
    return (stage == Stage::scatter ? "copies the items of" : "computes") + chunk;
}

std::string what_a_device_waits_for(Stage stage, const std::string& chunk) {
    return stage == Stage::gather ? "waits for rank 0 to take the results of" + chunk : "waits for a chunk";
}

}  // namespace

Activity::State Activity::state() const noexcept {
    return {.doing = doing_.load(std::memory_order_relaxed),
            .stage = stage_.load(std::memory_order_relaxed),
            .chunk = chunk_.load(std::memory_order_relaxed),
            .moves = moves_.load(std::memory_order_relaxed),
            .p99_ns = chunk_times_.p99()};
}

Activity& Activities::add(ActivityKind kind, std::string name) {
    return add(kind, std::move(name), new_group());
}

Activity& Activities::add(ActivityKind kind, std::string name, std::uint32_t group) {
    const std::lock_guard lock(mutex_);
    return entries_.emplace_back(kind, std::move(name), group).activity;
}

std::uint32_t Activities::new_group() {
    const std::lock_guard lock(mutex_);
    return groups_++;
}

std::vector<Activities::View> Activities::look() const {
    const std::lock_guard lock(mutex_);
    std::vector<View> views;
    views.reserve(entries_.size());
    for (const Entry& entry : entries_) {
        views.push_back(
            {.kind = entry.kind, .name = entry.name, .group = entry.group, .state = entry.activity.state()});
    }
    return views;
}

std::string describe(const Activities::View& activity) {
    const Activity::State& state = activity.state;
    if (state.doing == Activity::Doing::nothing) {
        return activity.name + ": has ended";
    }
    const bool works = state.doing == Activity::Doing::work;
    const std::string chunk = state.chunk == Activity::no_chunk ? std::string() : fmt::format(" chunk {}", state.chunk);
    std::string doing;
    switch (activity.kind) {
        case ActivityKind::comm:
            doing = works ? "is exchanging messages" : "waits for messages";
            break;
        case ActivityKind::reader:
            doing = (works ? "reads" : "waits for room for") + chunk;
            break;
        case ActivityKind::writer:
            doing = (works ? "writes" : "waits for the results of") + chunk;
            break;
        case ActivityKind::device:
            doing = works ? what_a_device_does(state.stage, chunk) : what_a_device_waits_for(state.stage, chunk);
            break;
        case ActivityKind::stream:
            doing = works ? "is working" : "is idle";
            break;
    }
    return fmt::format("{}: {}", activity.name, doing);
}

}  // namespace sluice

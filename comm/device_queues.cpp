#include "comm/device_queues.hpp"

#include <algorithm>
#include <cmath>

#include "core/clock.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t chunks_that_count = 8;   // in the mean of a device's chunks
constexpr std::uint64_t many_for_a_device = 32;  // chunks: a slow device's first ones do not outlast the others'

/// What a first chunk is to be multiplied with for the time of a later one, as the others show.
double warm_share(std::span<const DeviceQueue> queues) {
    double first = 0;
    double later = 0;
    for (const DeviceQueue& queue : queues) {
        first += queue.returned > 1 ? queue.first : 0;
        later += queue.returned > 1 ? queue.later : 0;
    }
    return later < first ? later / first : 1;
}

}  // namespace

bool has_to_wait(std::span<const DeviceQueue> queues, std::size_t device, std::uint64_t left, std::uint32_t lag) {
    const DeviceQueue& asking = queues[device];
    if (asking.returned == 0) {
        return queues.size() > 1 && asking.held > lag && left < many_for_a_device * queues.size();
    }
    const double warm = warm_share(queues);
    const auto known_time = [warm](const DeviceQueue& queue) {
        return queue.returned > 1 ? queue.later : queue.first * warm;
    };
    const auto time_of = [&](const DeviceQueue& queue) { return known_time(queue.returned == 0 ? asking : queue); };
    const auto next_done = [&](const DeviceQueue& queue) { return (queue.held + 1) * time_of(queue); };
    const double done = next_done(asking);
    double by_others = 0;
    for (const DeviceQueue& other : queues) {
        if (time_of(other) <= 0 || next_done(other) >= done) {
            continue;
        }
        by_others += std::max(1.0, std::ceil(done / time_of(other)) - 1 - other.held);
        if (by_others >= static_cast<double>(left)) {
            return true;
        }
    }
    return false;
}

void DeviceQueues::granted(std::uint64_t chunk, std::uint32_t device, std::chrono::nanoseconds now) noexcept {
    grants_[chunk % grants_.size()] = {.device = device, .at = now};
    ++queues_[device].held;
}

void DeviceQueues::returned(std::uint64_t chunk, std::chrono::nanoseconds now) noexcept {
    const Grant& grant = grants_[chunk % grants_.size()];
    DeviceQueue& queue = queues_[grant.device];
    const double time = std::max(0.0, Seconds(now - std::max(grant.at, returned_at_[grant.device])).count());
    returned_at_[grant.device] = now;
    --queue.held;
    if (queue.returned++ == 0) {
        queue.first = time;
    } else {
        queue.later += (time - queue.later) / static_cast<double>(std::min(queue.returned - 1, chunks_that_count));
    }
}

}  // namespace sluice

#include "core/device/device_queues.hpp"

#include <algorithm>

#include "core/clock.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t chunks_that_count = 8;   // in the mean of a device's chunks
constexpr double least_time = 1e-6;              // seconds; beside a rate without bound the sums would lose others'
constexpr std::uint64_t many_for_a_device = 32;  // chunks: a slow device's first ones do not outlast the others'

/// Chunks a second; 0 if they have taken no time, which tells nothing.
double rate_of(double seconds) {
    return seconds > 0 ? 1 / seconds : 0;
}

/// What a first chunk is to be multiplied with for the time of a later one, as other devices show.
double warm_share(const DeviceSums& all) {
    return all.later_seconds < all.first_seconds ? all.later_seconds / all.first_seconds : 1;
}

bool has_enough_to_begin(const DeviceQueue& asking, const DeviceSums& all, std::uint64_t left, std::uint32_t lag) {
    const bool few = left < many_for_a_device * all.devices;
    const std::uint32_t ahead = left < all.devices ? 0 : 1;
    return all.devices > 1 && few && asking.held > lag + ahead;
}

}  // namespace

void DeviceSums::count(const DeviceQueue& queue, int sign) {
    if (queue.returned == 0) {
        return;
    }
    known += static_cast<std::size_t>(sign);
    held += static_cast<std::uint64_t>(sign) * queue.held;
    if (queue.returned == 1) {
        first_rate += sign * rate_of(queue.first);
        return;
    }
    later_rate += sign * rate_of(queue.later);
    first_seconds += sign * queue.first;
    later_seconds += sign * queue.later;
}

bool has_to_wait(const DeviceQueue& asking, const DeviceSums& all, std::uint64_t left, std::uint32_t lag) {
    if (all.known < all.devices && has_enough_to_begin(asking, all, left, lag)) {
        return true;
    }
    if (asking.returned == 0) {
        return false;
    }
    const double warm = warm_share(all);
    const double time = asking.returned > 1 ? asking.later : asking.first * warm;
    const double rate_of_others = all.later_rate + (warm > 0 ? all.first_rate / warm : 0) - rate_of(time);
    const double done = (asking.held + 1.0) * time;
    // Each of the others finishes at least done * rate - 1 chunks earlier, of which it holds some already.
    const double by_others =
        done * rate_of_others - static_cast<double>(all.held - asking.held) - static_cast<double>(all.known - 1);
    return by_others >= static_cast<double>(left);
}

void DeviceQueues::granted(std::uint64_t chunk, std::uint32_t device, std::chrono::nanoseconds now) noexcept {
    grants_[chunk % grants_.size()] = {.device = device, .at = now};
    DeviceQueue& queue = queues_[device];
    sums_.subtract(queue);
    ++queue.held;
    sums_.add(queue);
}

void DeviceQueues::returned(std::uint64_t chunk, std::chrono::nanoseconds now) noexcept {
    const Grant& grant = grants_[chunk % grants_.size()];
    DeviceQueue& queue = queues_[grant.device];
    const double time = std::max(least_time, Seconds(now - std::max(grant.at, returned_at_[grant.device])).count());
    returned_at_[grant.device] = now;
    sums_.subtract(queue);
    --queue.held;
    if (queue.returned++ == 0) {
        queue.first = time;
    } else {
        queue.later += (time - queue.later) / static_cast<double>(std::min(queue.returned - 1, chunks_that_count));
    }
    sums_.add(queue);
    if (++returns_added_ >= queues_.size()) {
        add_up();
    }
}

/// Anew, so that what additions and subtractions round does not add up.
void DeviceQueues::add_up() {
    sums_ = {.devices = queues_.size()};
    for (const DeviceQueue& queue : queues_) {
        sums_.add(queue);
    }
    returns_added_ = 0;
}

}  // namespace sluice

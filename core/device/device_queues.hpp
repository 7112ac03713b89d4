#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// Chunks that a device holds, and how long it has taken for others, in seconds.
struct DeviceQueue {
    std::uint32_t held = 0;      ///< Granted to it, and not returned.
    std::uint64_t returned = 0;  ///< 0: how fast it is, is not known.
    double first = 0;            ///< Of the first one it returned, in which it may have warmed up.
    double later = 0;            ///< Mean of the later ones, of which the last eight or so count.
};

/// Sums over devices.
struct DeviceSums {
    std::size_t devices = 0;
    std::size_t known = 0;     ///< Devices that have returned a chunk. The rest is of these.
    std::uint64_t held = 0;    ///< Chunks.
    double first_rate = 0;     ///< Chunks a second, of devices that have returned one, as that one took.
    double later_rate = 0;     ///< Of the other devices.
    double first_seconds = 0;  ///< What first chunks took, of those others.
    double later_seconds = 0;  ///< What their later ones take.

    void add(const DeviceQueue& queue) { count(queue, 1); }
    void subtract(const DeviceQueue& queue) { count(queue, -1); }

private:
    void count(const DeviceQueue& queue, int sign);
};

/// Whether the device `asking`, one of those in `all`, has to wait for one of the `left` chunks that are not granted:
/// by what chunks have taken so far, the other devices would finish all of these before it would finish one more. The
/// device that would be the next to finish one more never waits, so that a run always goes on.
///
/// A device that has returned no chunk is not counted on. As long as there are such, and few chunks are left for each
/// device, all wait once they hold `lag` + 2: what a device needs to return one, and one that is copied meanwhile; or
/// `lag` + 1 where there are fewer chunks than devices. Pure.
[[nodiscard]] bool has_to_wait(const DeviceQueue& asking, const DeviceSums& all, std::uint64_t left, std::uint32_t lag);

/// The queues of all devices of a run. Calls take constant time, on average; none locks, or allocates after
/// construction.
class DeviceQueues {
public:
    /// Chunks that are held at once lie within `window` successive ids. `lag` is the models'.
    DeviceQueues(std::size_t devices, std::size_t window, std::uint32_t lag)
        : queues_(devices), returned_at_(devices), grants_(window), lag_(lag) {
        sums_.devices = devices;
    }

    // `now` is any time that does not go back.
    void granted(std::uint64_t chunk, std::uint32_t device, std::chrono::nanoseconds now) noexcept;
    void returned(std::uint64_t chunk, std::chrono::nanoseconds now) noexcept;

    [[nodiscard]] bool has_to_wait(std::uint32_t device, std::uint64_t left) const {
        return sluice::has_to_wait(queues_[device], sums_, left, lag_);
    }

private:
    struct Grant {
        std::uint32_t device = 0;
        std::chrono::nanoseconds at{0};
    };

    void add_up();

    std::vector<DeviceQueue> queues_;
    DeviceSums sums_;
    std::size_t returns_added_ = 0;                      // to the sums, since add_up()
    std::vector<std::chrono::nanoseconds> returned_at_;  // the last chunk of each device
    std::vector<Grant> grants_;                          // of chunk id at id % window
    std::uint32_t lag_;
};

}  // namespace sluice

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Chunks that a device holds, and how long it has taken for others, in seconds.
struct DeviceQueue {
    std::uint32_t held = 0;      ///< Granted to it, and not returned.
    std::uint64_t returned = 0;  ///< 0: how fast it is, is not known.
    double first = 0;            ///< Of the first one it returned, in which it may have warmed up.
    double later = 0;            ///< Mean of the later ones, of which the last eight or so count.
};

/// Whether `device`, which asks for one of the `left` chunks that are not granted, has to wait: by what chunks have
/// taken so far, the other devices would finish all of these before it would finish one more. One that has returned
/// none is taken to be as fast as it, but itself holds no more than it needs to return one, `lag` + 1, unless many are
/// left for each device. Where no device holds any, one does not wait, so there is always one that works. Pure.
[[nodiscard]] bool has_to_wait(std::span<const DeviceQueue> queues, std::size_t device, std::uint64_t left,
                               std::uint32_t lag);

/// The queues of all devices of a run. Neither locks nor allocates after construction.
class DeviceQueues {
public:
    /// Chunks that are held at once lie within `window` successive ids. `lag` is the models'.
    DeviceQueues(std::size_t devices, std::size_t window, std::uint32_t lag)
        : queues_(devices), returned_at_(devices), grants_(window), lag_(lag) {}

    // `now` is any time that does not go back.
    void granted(std::uint64_t chunk, std::uint32_t device, std::chrono::nanoseconds now) noexcept;
    void returned(std::uint64_t chunk, std::chrono::nanoseconds now) noexcept;

    [[nodiscard]] bool has_to_wait(std::uint32_t device, std::uint64_t left) const {
        return sluice::has_to_wait(queues_, device, left, lag_);
    }

private:
    struct Grant {
        std::uint32_t device = 0;
        std::chrono::nanoseconds at{0};
    };

    std::vector<DeviceQueue> queues_;
    std::vector<std::chrono::nanoseconds> returned_at_;  // the last chunk of each device
    std::vector<Grant> grants_;                          // of chunk id at id % window
    std::uint32_t lag_;
};

}  // namespace sluice

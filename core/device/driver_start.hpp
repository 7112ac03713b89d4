#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace sluice {

/// CMake chooses the implementation, as core/device/cuda.hpp says.

[[nodiscard]] bool built_with_cuda() noexcept;

/// Starts CUDA's driver and GPUs' contexts in a thread of its own, so that devices made later find it done. What fails
/// is left for make_cuda_device() to meet. Nothing in a build without CUDA.
class DriverStart {
public:
    /// Of these GPUs, by their indexes; empty: of all that this process sees.
    explicit DriverStart(std::vector<std::uint32_t> gpus = {});

    /// From the driver's being asked for until the last context was there; nullopt: it is not.
    [[nodiscard]] std::optional<Interval> took() const noexcept {
        const Instant end = end_.load();
        return end == Instant() ? std::nullopt : std::optional(Interval{begin_, end});
    }

private:
    Instant begin_ = Clock::now();
    std::atomic<Instant> end_{};
    std::jthread thread_{};
};

}  // namespace sluice

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace sluice {

/// The turn of a process among those of its node that start GPUs. The driver starts one GPU at a time, some 0.15 s
/// each, whichever process asks: where all ask at once all get theirs at the end, and in turn the first can compute
/// long before the last. Both are called by the thread that starts the GPUs, `pass_on` also if it fails; where there is
/// no thread for it, `pass_on` alone, at once. Empty: no turns.
struct DriverTurn {
    std::function<void(const std::stop_token&)> wait{};
    std::function<void()> pass_on{};
};

/// Starts CUDA's driver and GPUs' contexts, one after another, in a thread of its own, so that devices made later find
/// it done: the first can be used while the others start. What fails is left for make_cuda_device() to meet.
class DriverStart {
public:
    /// Of these GPUs, by their indexes; empty: of all that this process sees.
    explicit DriverStart(std::vector<std::uint32_t> gpus = {}, const DriverTurn& turn = {});

    /// Returns when the turn has come. With a turn no other thread of the process may call CUDA before.
    void wait_for_turn() const { turn_came_.wait(); }

    /// Returns when `gpu` has its context, or will not get one here. A thread that asked CUDA for it before would take
    /// part of the driver's time from the others' contexts, and all would be there at the end.
    void wait_for(std::uint32_t gpu) const;

    /// From the driver's being asked for until the last context was there; nullopt: it is not.
    [[nodiscard]] std::optional<Interval> took() const noexcept {
        const Instant end = end_.load();
        return end == Instant() ? std::nullopt : std::optional(Interval{begin_, end});
    }

private:
    void note_started(std::uint32_t gpu);
    void note_over();

    std::latch turn_came_{1};
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<std::uint32_t> started_;
    bool is_over_ = false;
    Instant begin_ = Clock::now();  // of the turn
    std::atomic<Instant> end_{};
    std::jthread thread_{};
};

}  // namespace sluice

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice {

/// Lets a thread sleep until another one says that something may have changed. No lock, no allocation; a ring without
/// a sleeper costs one atomic add, and of many rings during one sleep only the first costs a system call. Any number of
/// ringers and sleepers.
///
///     for (;;) {
///         const auto seen = bell.listen();
///         if (condition()) break;
///         bell.wait(seen);
///     }
class Doorbell {
public:
    Doorbell() = default;
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;

    /// Wakes everyone who listened before this call. Safe from any thread.
    void ring() noexcept {
        rings_.fetch_add(1, std::memory_order_seq_cst);
        if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst)) {
            wake();
        }
    }

    /// To be taken before the condition is looked at.
    [[nodiscard]] std::uint32_t listen() const noexcept { return rings_.load(std::memory_order_seq_cst); }

    /// Returns once the bell has been rung after `seen` was taken; now and then without reason.
    void wait(std::uint32_t seen) noexcept;

    /// The same, `at_most` long.
    void wait_for(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept;

private:
    void wake() noexcept;

    std::atomic<std::uint32_t> rings_{0};
    std::atomic<bool> asleep_{false};  // someone may sleep whom no ring has woken yet
};

}  // namespace sluice

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace sluice {

/// Lets threads sleep until another thread signals that something may have changed. Lock-free, without allocation;
/// ringing without a sleeper costs one atomic add, and only the first ring during a sleep makes a system call. Any
/// number of threads may ring and sleep.
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
        if ((word_.fetch_add(a_ring, std::memory_order_seq_cst) & asleep) != 0 &&
            (word_.fetch_and(~asleep, std::memory_order_seq_cst) & asleep) != 0) {
            wake();
        }
    }

    /// Call before checking the condition.
    [[nodiscard]] std::uint32_t listen() const noexcept { return word_.load(std::memory_order_seq_cst); }

    /// Blocks until the bell has been rung since `seen` was obtained; may wake spuriously.
    void wait(std::uint32_t seen) noexcept;

    /// wait() with a timeout.
    void wait_for(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept;

private:
    // One word for both, because a futex compares it once more as it goes to sleep: a sleeper whose flag a ring has
    // just taken away stays awake.
    static constexpr std::uint32_t asleep = 1;  // someone may sleep whom no ring has woken yet
    static constexpr std::uint32_t a_ring = 2;

    void sleep(std::uint32_t seen, const std::timespec* at_most) noexcept;
    void wake() noexcept;

    std::atomic<std::uint32_t> word_{0};
};

}  // namespace sluice

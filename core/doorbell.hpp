#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

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
        if ((word_.fetch_add(a_ring, std::memory_order_seq_cst) & asleep) != 0 &&
            (word_.fetch_and(~asleep, std::memory_order_seq_cst) & asleep) != 0) {
            wake();
        }
    }

    /// To be taken before the condition is looked at.
    [[nodiscard]] std::uint32_t listen() const noexcept { return word_.load(std::memory_order_seq_cst); }

    /// Returns once the bell has been rung after `seen` was taken; now and then without reason.
    void wait(std::uint32_t seen) noexcept;

    /// The same, `at_most` long.
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

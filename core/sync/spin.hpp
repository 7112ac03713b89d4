#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

#include "core/clock.hpp"

namespace sluice {

/// Which of its yields a thread leaves out. Where others have work for all of a core, a yield costs their time slices,
/// while a thread that sleeps is preferred when it is woken.
class YieldPatience {
public:
    static constexpr std::chrono::microseconds longest{100};
    static constexpr std::uint32_t left_out = 1000;  ///< After one that lasted longer.

    /// Whether to yield now.
    [[nodiscard]] bool next() noexcept {
        to_leave_out_ -= to_leave_out_ > 0 ? 1 : 0;
        return to_leave_out_ == 0;
    }
    void lasted(std::chrono::nanoseconds time) noexcept { to_leave_out_ = time > longest ? left_out + 1 : 0; }

private:
    std::uint32_t to_leave_out_ = 0;
};

/// Polls `condition` for about as long as putting a thread to sleep and waking it on an idle core takes (some ten
/// microseconds on a virtual machine). Spins at first, then yields between polls: with fewer cores than threads, the
/// thread it waits for may need this core. Returns whether `condition` became true.
template <class Condition>
[[nodiscard]] bool spin_until(Condition condition) {
    static thread_local YieldPatience patience;
    constexpr int looks = 64;
    constexpr int patient_looks = 8;
    for (int i = 0; i < looks; ++i) {
        if (condition()) {
            return true;
        }
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    for (int i = 0; i < patient_looks && patience.next(); ++i) {
        if (condition()) {
            return true;
        }
        const Instant before = Clock::now();
        sched_yield();
        patience.lasted(Clock::now() - before);
    }
    return condition();
}

}  // namespace sluice

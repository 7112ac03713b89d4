#pragma once

#include <sched.h>

namespace sluice {

/// Polls `condition` for about as long as putting a thread to sleep and waking it on an idle core takes (some ten
/// microseconds on a virtual machine). Spins at first, then yields between polls: with fewer cores than threads, the
/// thread it waits for may need this core. Returns whether `condition` became true.
template <class Condition>
[[nodiscard]] bool spin_until(Condition condition) {
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
    for (int i = 0; i < patient_looks; ++i) {
        if (condition()) {
            return true;
        }
        sched_yield();
    }
    return false;
}

}  // namespace sluice

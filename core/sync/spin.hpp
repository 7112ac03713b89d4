#pragma once

#include <sched.h>

namespace sluice {

/// Looks at `condition` for about as long as putting a thread to sleep and waking it on an idle core costs (some ten
/// microseconds on a virtual machine), first at once, then giving way to any other thread between two looks: on a
/// machine with fewer cores than threads, the one it waits for may need this core.
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

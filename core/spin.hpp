#pragma once

namespace sluice {

/// Looks at `condition` for about as long as putting a thread to sleep and waking it costs (a few microseconds), no
/// longer: on a machine with fewer cores than threads, a spinning thread delays the one it waits for.
template <class Condition>
[[nodiscard]] bool spin_until(Condition condition) {
    constexpr int looks = 64;
    for (int i = 0; i < looks; ++i) {
        if (condition()) {
            return true;
        }
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    return false;
}

}  // namespace sluice

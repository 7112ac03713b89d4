#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "core/sync/doorbell.hpp"

namespace sluice {

/// Opens once for all threads that wait at it.
class Gate {
public:
    void open() {
        open_.store(true);
        bell_.ring();
    }
    void wait() {
        for (;;) {
            const std::uint32_t seen = bell_.listen();
            if (open_.load()) {
                return;
            }
            bell_.wait(seen);
        }
    }

private:
    std::atomic<bool> open_{false};
    Doorbell bell_;
};

/// Work that fails.
[[noreturn]] inline void fail() {
    throw std::runtime_error("sick");
}

}  // namespace sluice

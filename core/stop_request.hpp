#pragma once

#include <atomic>

#include "core/doorbell.hpp"

namespace sluice {

/// Asks the run to end early; set by the signal thread, looked at by the comm thread.
class StopRequest {
public:
    /// `bell` is rung when a stop is asked for.
    explicit StopRequest(Doorbell& bell) : bell_(bell) {}

    void ask(int signal) noexcept {
        signal_.store(signal, std::memory_order_release);
        bell_.ring();
    }

    /// The signal that asked for it; 0: nobody did.
    [[nodiscard]] int signal() const noexcept { return signal_.load(std::memory_order_acquire); }

private:
    Doorbell& bell_;
    std::atomic<int> signal_{0};
};

}  // namespace sluice

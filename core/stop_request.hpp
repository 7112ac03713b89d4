#pragma once

#include <atomic>
#include <cstdint>

#include "core/doorbell.hpp"

namespace sluice {

enum class RunPhase : std::uint32_t {
    preparing,  ///< Nobody looks at a StopRequest: whoever gets the signal ends the process.
    serving,    ///< The comm thread looks at it.
    finishing,  ///< All results are there: a stop would only lose them.
};

/// Who asked for a run's early end.
struct StopCause {
    int signal = 0;  ///< 0: nobody did.
    int rank = 0;    ///< That met it.
};

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

    void enter(RunPhase phase) noexcept { phase_.store(phase, std::memory_order_release); }
    [[nodiscard]] RunPhase phase() const noexcept { return phase_.load(std::memory_order_acquire); }

private:
    Doorbell& bell_;
    std::atomic<int> signal_{0};
    std::atomic<RunPhase> phase_{RunPhase::preparing};
};

}  // namespace sluice

#pragma once

#include <atomic>
#include <cstdint>

#include "core/doorbell.hpp"

namespace sluice {

enum class RunPhase : std::uint32_t {
    preparing,  ///< Nobody looks at a StopRequest: a signal ends the process; the first SIGUSR1, rank 0 alone.
    serving,    ///< The comm thread looks at it.
    finishing,  ///< All results are there: a stop would only lose them.
};

enum class StopReason : std::uint8_t {
    signal,
    drain_request,  ///< `sluice drain`.
    time_limit,     ///< The job's time is nearly over.
};

/// Who asked for a run's early end.
struct StopCause {
    int signal = 0;  ///< 0: nobody did.
    int rank = 0;    ///< That met it.
    StopReason reason = StopReason::signal;
};

/// Asks the run to end early; set by the signal thread, looked at by the comm thread.
class StopRequest {
public:
    /// `bell` is rung when a stop is asked for.
    explicit StopRequest(Doorbell& bell) : bell_(bell) {}

    /// Where `reason` is no signal, `signal` is one that stands for it.
    void ask(int signal, StopReason reason = StopReason::signal) noexcept {
        reason_.store(reason, std::memory_order_relaxed);
        signal_.store(signal, std::memory_order_release);
        bell_.ring();
    }

    /// The signal that asked for it; 0: nobody did.
    [[nodiscard]] int signal() const noexcept { return signal_.load(std::memory_order_acquire); }

    /// Of that signal.
    [[nodiscard]] StopReason reason() const noexcept { return reason_.load(std::memory_order_relaxed); }

    void enter(RunPhase phase) noexcept { phase_.store(phase, std::memory_order_release); }
    [[nodiscard]] RunPhase phase() const noexcept { return phase_.load(std::memory_order_acquire); }

private:
    Doorbell& bell_;
    std::atomic<StopReason> reason_{StopReason::signal};
    std::atomic<int> signal_{0};
    std::atomic<RunPhase> phase_{RunPhase::preparing};
};

}  // namespace sluice

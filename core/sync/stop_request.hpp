#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.hpp"
#include "core/sync/doorbell.hpp"

namespace sluice {

enum class RunPhase : std::uint32_t {
    preparing,  ///< StopRequest is not polled yet: a signal ends the process; the first SIGUSR1 ends rank 0 only.
    serving,    ///< The comm thread polls it.
    finishing,  ///< All results have arrived: stopping would only lose them.
};

enum class StopReason : std::uint8_t {
    signal,
    drain_request,  ///< `sluice drain`.
    time_limit,     ///< The job's time limit is near.
};

/// What caused a run's early end.
struct StopCause {
    int signal = 0;  ///< 0: no stop was requested.
    int rank = 0;    ///< Rank that received the request.
    StopReason reason = StopReason::signal;
};

/// Request to end the run early, set by the signal thread or the monitor and polled by the comm thread.
class StopRequest {
public:
    /// `bell` is rung on each request; it outlives this object.
    explicit StopRequest(Doorbell& bell) : bell_(bell) {}

    /// The first request counts. `signal` is the signal received, or for other reasons one that stands for it.
    void ask(int signal, StopReason reason = StopReason::signal) noexcept {
        std::uint32_t none = 0;
        request_.compare_exchange_strong(none, static_cast<std::uint32_t>(signal) | static_cast<std::uint32_t>(reason)
                                                                                        << reason_shift);
        bell_.ring();
    }

    /// Signal of the request; 0 if there was none.
    [[nodiscard]] int signal() const noexcept {
        return static_cast<int>(request_.load(std::memory_order_acquire) & signal_bits);
    }

    /// Reason of the request.
    [[nodiscard]] StopReason reason() const noexcept {
        return static_cast<StopReason>(request_.load(std::memory_order_acquire) >> reason_shift);
    }

    /// By when chunks in flight have to be there once the run stops, for whatever reason. The last call counts.
    void end_chunks_by(Instant end) noexcept { chunks_end_.store(end, std::memory_order_relaxed); }
    /// Instant::max(): nothing is known to end the job.
    [[nodiscard]] Instant chunks_end() const noexcept { return chunks_end_.load(std::memory_order_relaxed); }

    void enter(RunPhase phase) noexcept { phase_.store(phase, std::memory_order_release); }
    [[nodiscard]] RunPhase phase() const noexcept { return phase_.load(std::memory_order_acquire); }

private:
    static constexpr std::uint32_t reason_shift = 16;
    static constexpr std::uint32_t signal_bits = (1U << reason_shift) - 1;

    Doorbell& bell_;
    std::atomic<Instant> chunks_end_{Instant::max()};
    std::atomic<std::uint32_t> request_{0};  // both in one word: two threads may ask at the same time
    std::atomic<RunPhase> phase_{RunPhase::preparing};
};

}  // namespace sluice

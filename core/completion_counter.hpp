#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "core/doorbell.hpp"
#include "core/event.hpp"

namespace sluice {

/// Event source for work that completes in order: ticket n is reached by the n-th completion. One thread completes,
/// any thread looks. The times of the last `kept()` tickets are available.
class CompletionCounter : public EventSource {
public:
    /// `kept` is rounded up to a power of two. `bell`, if any, is rung at each completion and outlives the counter.
    explicit CompletionCounter(std::size_t kept, Doorbell* bell = nullptr);

    /// Completes the next ticket.
    void complete() noexcept;

    /// From the next ticket on, every one carries `failure` once it is reached. The first call counts.
    void poison(std::exception_ptr failure) noexcept;

    /// Poisons, and reaches all tickets there will ever be: whoever waits, now or later, meets the failure.
    void abandon(std::exception_ptr failure) noexcept;

    [[nodiscard]] bool poisoned() const noexcept { return failed_from_.load(std::memory_order_relaxed) != never; }
    [[nodiscard]] std::size_t kept() const noexcept { return times_.size(); }

    [[nodiscard]] bool reached(std::uint64_t ticket) const override;
    void wait_until_reached(std::uint64_t ticket) const override;
    [[nodiscard]] Instant reached_at(std::uint64_t ticket) const override;

private:
    static constexpr std::uint64_t never = UINT64_MAX;

    void announce() noexcept;

    std::vector<std::atomic<Instant::rep>> times_;
    Doorbell* bell_;
    std::atomic<std::uint64_t> completed_{0};
    std::atomic<std::uint64_t> failed_from_{never};  // set before completed_ reaches it
    std::exception_ptr failure_;
    mutable Doorbell progress_;
};

}  // namespace sluice

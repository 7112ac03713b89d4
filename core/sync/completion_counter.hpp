#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "core/event.hpp"
#include "core/sync/doorbell.hpp"

namespace sluice {

/// Event source for work that completes in order: the n-th completion reaches ticket n. One thread completes; any
/// thread may query. The times of the last `kept()` tickets are available.
class CompletionCounter : public EventSource {
public:
    /// `kept` is rounded up to a power of two. `bell` may be null; it is rung at each completion and outlives the
    /// counter.
    explicit CompletionCounter(std::size_t kept, Doorbell* bell = nullptr);

    /// Completes the next ticket.
    void complete() noexcept;

    /// complete() without waking anyone, for a ticket that nobody waits for.
    void complete_quietly() noexcept;

    /// Rings `bell` at every completion from now on. Returns false if there is no room for another bell. Called by one
    /// thread.
    [[nodiscard]] bool subscribe(const std::shared_ptr<Doorbell>& bell);

    /// Whether the ticket was reached, successfully or not.
    [[nodiscard]] bool passed(std::uint64_t ticket) const noexcept {
        return completed_.load(std::memory_order_seq_cst) >= ticket;
    }

    /// All tickets from the next one on carry `failure` once reached. Only the first call has an effect.
    void poison(std::exception_ptr failure) noexcept;

    /// Poisons, and reaches all future tickets: waiting for a ticket or asking for its time, now or later, throws the
    /// failure. Nothing may be completed afterwards.
    void abandon(std::exception_ptr failure) noexcept;

    [[nodiscard]] bool poisoned() const noexcept { return failed_from_.load(std::memory_order_relaxed) != never; }
    [[nodiscard]] std::size_t kept() const noexcept { return times_.size(); }

    [[nodiscard]] bool reached(std::uint64_t ticket) const override;
    void wait_until_reached(std::uint64_t ticket) const override;
    [[nodiscard]] Instant reached_at(std::uint64_t ticket) const override;

private:
    static constexpr std::uint64_t never = UINT64_MAX;
    static constexpr std::uint64_t all_there_will_be = never - 1;

    static constexpr std::size_t most_subscribers = 4;

    void announce() noexcept;

    std::vector<std::atomic<Instant::rep>> times_;
    Doorbell* bell_;

    // These two are written and read in one total order (seq_cst): who subscribes and then finds a ticket not passed
    // is seen, and rung, by the completion that passes it.
    std::atomic<std::uint64_t> completed_{0};
    std::atomic<std::size_t> subscriber_count_{0};

    std::atomic<std::uint64_t> failed_from_{never};  // set before completed_ reaches it
    std::exception_ptr failure_;
    mutable Doorbell progress_;
    std::array<std::shared_ptr<Doorbell>, most_subscribers> subscribers_;
};

}  // namespace sluice

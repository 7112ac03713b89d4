#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "core/interface.hpp"

namespace sluice {

/// Source of events: a stream or a transport, which numbers its own tickets.
class EventSource : public Interface {
public:
    /// Whether the work behind `ticket` is done. Never blocks; once true, stays true; rethrows the work's failure.
    [[nodiscard]] virtual bool reached(std::uint64_t ticket) const = 0;

    /// Blocks until reached(ticket); rethrows the work's failure.
    virtual void wait_until_reached(std::uint64_t ticket) const = 0;

    /// Time at which the ticket was reached. Kept for a bounded number of later tickets, documented by each source.
    [[nodiscard]] virtual Instant reached_at(std::uint64_t ticket) const = 0;
};

/// Copyable handle of a point in a source's work. Default-constructed = already complete. Must not outlive its source.
class Event {
public:
    Event() = default;
    Event(const EventSource& source, std::uint64_t ticket) noexcept : source_(&source), ticket_(ticket) {}

    /// Never blocks; once true, stays true; rethrows the operation's failure.
    [[nodiscard]] bool ready() const { return source_ == nullptr || source_->reached(ticket_); }

    void wait() const {
        if (source_ != nullptr) {
            source_->wait_until_reached(ticket_);
        }
    }

    /// The event must be ready and have a source.
    [[nodiscard]] Instant completed_at() const { return source_->reached_at(ticket_); }

    [[nodiscard]] const EventSource* source() const noexcept { return source_; }
    [[nodiscard]] std::uint64_t ticket() const noexcept { return ticket_; }

private:
    const EventSource* source_ = nullptr;
    std::uint64_t ticket_ = 0;
};

}  // namespace sluice

#pragma once

#include <cstddef>
#include <span>

#include "core/chunk.hpp"
#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/interface.hpp"

namespace sluice {

class Doorbell;

/// A chunk, and where its items are.
struct Arrival {
    Chunk chunk{};
    Instant began{};                     ///< Start of the transfer; the ticket's event has its end.
    std::span<const std::byte> items{};  ///< Where the items lie; empty: in the request's buffer.
};

/// A requested chunk: once `arrived` is ready, *arrival tells which chunk it is, and fetch() gets its items.
struct Ticket {
    Event arrived;
    std::span<std::byte> to{};         ///< The request's buffer.
    const Arrival* arrival = nullptr;  ///< Owned by the transport; valid until the next request into the same buffer.
};

/// Delivers chunks to one device driver and takes its results. Used by that driver's thread only.
class Transport : public Interface {
public:
    /// Requests the next chunk's items into `to`, which stays alive and untouched until they are fetched. Tickets
    /// arrive in the order of the requests. After the last chunk every ticket yields end_of_input().
    [[nodiscard]] virtual Ticket request(std::span<std::byte> to) = 0;

    /// Makes the items of a chunk that has arrived lie in its request's buffer: copies them there if they are elsewhere
    /// in memory. Call once for each chunk. Returns when the items were moved.
    [[nodiscard]] virtual Interval fetch(const Ticket& ticket) {
        return {ticket.arrival->began, ticket.arrived.completed_at()};
    }

    /// Hands over the outputs of `chunk`; `from` stays alive and unchanged until the event is ready. Deliveries
    /// complete in the order of the calls.
    [[nodiscard]] virtual Event deliver(const Chunk& chunk, std::span<const std::byte> from) = 0;

    /// Rung whenever one of the events above becomes ready.
    [[nodiscard]] virtual Doorbell& bell() noexcept = 0;
};

}  // namespace sluice

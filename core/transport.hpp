#pragma once

#include <cstddef>
#include <span>

#include "core/chunk.hpp"
#include "core/clock.hpp"
#include "core/doorbell.hpp"
#include "core/event.hpp"

namespace sluice {

struct Arrival {
    Chunk chunk{};
    Instant began{};  ///< When its items began to move; the ticket's event says when they were there.
};

/// The promise of one chunk: once `arrived` is ready, *arrival says which one came.
struct Ticket {
    Event arrived;
    const Arrival* arrival = nullptr;  ///< The transport's; valid until the next request into the same buffer.
};

/// Where one device driver gets its chunks and leaves its results. Used by that driver's thread alone.
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Brings the next chunk's items into `to`, which stays alive and untouched until `arrived` is ready. Tickets of
    /// one transport arrive in the order of the requests. After the last chunk every ticket says end_of_input().
    [[nodiscard]] virtual Ticket request(std::span<std::byte> to) = 0;

    /// Hands over the outputs of `chunk`; `from` stays alive and unchanged until the event is ready. Deliveries
    /// complete in the order of the calls.
    [[nodiscard]] virtual Event deliver(const Chunk& chunk, std::span<const std::byte> from) = 0;

    /// Rung whenever one of the events above becomes ready.
    [[nodiscard]] virtual Doorbell& bell() noexcept = 0;
};

}  // namespace sluice

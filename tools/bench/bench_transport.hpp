#pragma once

#include <cstdint>
#include <vector>

#include "core/sync/completion_counter.hpp"
#include "core/transport.hpp"

namespace sluice::bench {

/// Grants `chunks` chunks of one item at once and at no cost, which leaves the pipeline's own cost.
class InstantTransport final : public Transport {
public:
    InstantTransport(std::uint64_t chunks, std::uint32_t depth) : chunks_(chunks), arrivals_(depth), moments_(64) {
        moments_.complete();
    }

    [[nodiscard]] Ticket request(std::span<std::byte>) override {
        Arrival& arrival = arrivals_[next_ % arrivals_.size()];
        arrival.chunk = {next_, next_, next_ < chunks_ ? 1U : 0U};
        ++next_;
        return {.arrived = Event(moments_, 1), .arrival = &arrival};
    }

    [[nodiscard]] Event deliver(const Chunk&, std::span<const std::byte>) override { return {moments_, 1}; }

    [[nodiscard]] Doorbell& bell() noexcept override { return bell_; }

private:
    std::uint64_t chunks_;
    std::uint64_t next_ = 0;
    std::vector<Arrival> arrivals_;
    CompletionCounter moments_;  // its only ticket is reached
    Doorbell bell_;
};

}  // namespace sluice::bench

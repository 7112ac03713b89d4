#include "comm/endpoint.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/files/checksum.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {

Endpoint::Endpoint(std::uint32_t depth, Doorbell& comm_bell)
    : depth_(depth),
      comm_bell_(comm_bell),
      posts_(3 * std::size_t{depth} + 1),  // every slot's request, copy and delivery, and the close
      arrivals_(depth),
      requests_(2 * std::size_t{depth}, &driver_bell_),
      deliveries_(2 * std::size_t{depth}, &driver_bell_) {}

Ticket Endpoint::request(std::span<std::byte> to) {
    const auto slot = static_cast<std::uint32_t>(requested_ % depth_);
    post({.kind = Post::Kind::request, .slot = slot, .to = to});
    return {.arrived = Event(requests_, ++requested_), .to = to, .arrival = &arrivals_[slot]};
}

Interval Endpoint::fetch(const Ticket& ticket) {
    const Arrival& arrival = *ticket.arrival;
    if (arrival.items.empty()) {
        return Transport::fetch(ticket);
    }
    const auto slot = static_cast<std::uint32_t>(&arrival - arrivals_.data());
    const Instant began = Clock::now();
    std::ranges::copy(arrival.items, ticket.to.begin());
    fault_delay("scatter");
    const Interval copied{began, Clock::now()};
    post({.kind = Post::Kind::fetched, .slot = slot, .chunk = arrival.chunk});
    return copied;
}

Event Endpoint::deliver(const Chunk& chunk, std::span<const std::byte> from) {
    const auto slot = static_cast<std::uint32_t>(delivered_ % depth_);
    post({.kind = Post::Kind::deliver, .slot = slot, .chunk = chunk, .from = from, .checksum = checksum_of(from)});
    return {deliveries_, ++delivered_};
}

void Endpoint::close(std::exception_ptr failure) {
    const bool failed = failure != nullptr;
    failure_ = std::move(failure);
    post({.kind = Post::Kind::closed});
    while (failed) {
        const std::uint32_t seen = driver_bell_.listen();
        if (abandoned_.load(std::memory_order_acquire)) {
            break;
        }
        driver_bell_.wait(seen);
    }
}

bool Endpoint::take(Post& post) {
    if (!posts_.try_pop(post)) {
        return false;
    }
    leaving_ += post.kind == Post::Kind::deliver ? 1U : 0U;
    return true;
}

void Endpoint::answer(const Arrival& arrival) {
    arrivals_[answered_++ % depth_] = arrival;
}

void Endpoint::complete_request() {
    requests_.complete();
}

void Endpoint::complete_delivery() {
    ++taken_back_;
    deliveries_.complete();
}

std::optional<Chunk> Endpoint::oldest_open() const {
    const Chunk& oldest = arrivals_[taken_back_ % depth_].chunk;
    return taken_back_ == answered_ || oldest.end_of_input() ? std::nullopt : std::optional(oldest);
}

void Endpoint::abandon(const std::exception_ptr& reason) noexcept {
    abandoned_.store(true, std::memory_order_release);
    requests_.abandon(reason);
    deliveries_.abandon(reason);
}

void Endpoint::post(const Post& post) {
    expects(posts_.try_push(post), "Endpoint: more is under way than its depth allows");
    comm_bell_.ring();
}

}  // namespace sluice

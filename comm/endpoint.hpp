#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "core/sync/completion_counter.hpp"
#include "core/sync/spsc_ring.hpp"
#include "core/transport.hpp"

namespace sluice {

/// A device driver's request to its rank's comm thread.
struct Post {
    enum class Kind { request, fetched, deliver, closed };
    Kind kind = Kind::request;
    std::uint32_t slot = 0;             ///< 0 … depth-1, round robin, separately for each kind.
    Chunk chunk{};                      ///< fetched: whose items were copied; deliver: the chunk of the outputs.
    std::span<std::byte> to{};          ///< request
    std::span<const std::byte> from{};  ///< deliver
    std::uint64_t checksum = 0;         ///< deliver: of `from`.
};

/// Transport of one device driver, which shares two counters and a single-producer single-consumer ring with the comm
/// thread. The driver calls Transport's functions and close(), the comm thread the rest.
class Endpoint final : public Transport {
public:
    /// At most `depth` requests and `depth` deliveries are open at once. Each post rings `comm_bell`.
    Endpoint(std::uint32_t depth, Doorbell& comm_bell);

    [[nodiscard]] Ticket request(std::span<std::byte> to) override;
    [[nodiscard]] Interval fetch(const Ticket& ticket) override;
    [[nodiscard]] Event deliver(const Chunk& chunk, std::span<const std::byte> from) override;
    [[nodiscard]] Doorbell& bell() noexcept override { return driver_bell_; }

    /// Ends the driver's side; nothing is posted afterwards. With a `failure` it blocks until abandon(), because until
    /// then the comm thread may still write to the buffers of open requests.
    void close(std::exception_ptr failure = nullptr);

    /// Takes the driver's next post; false if there is none.
    [[nodiscard]] bool take(Post& post);

    /// Answers the driver's next request. If the items lie elsewhere, the driver copies them from there, and posts that
    /// it has. The chunk counts as open from now on; the driver gets it by complete_request(), so that it can be
    /// recorded first: it may end the process.
    void answer(const Arrival& arrival);
    void complete_request();
    void complete_delivery();

    /// The oldest chunk granted to the driver and not yet delivered.
    [[nodiscard]] std::optional<Chunk> oldest_open() const;

    /// Calls `visit(chunk)` for every undelivered chunk, oldest first.
    template <class Visit>
    void for_each_open(Visit visit) const {
        for (std::uint64_t i = taken_back_; i != answered_ && !arrivals_[i % depth_].chunk.end_of_input(); ++i) {
            visit(arrivals_[i % depth_].chunk);
        }
    }

    /// Whether the outputs of oldest_open() are already in transit.
    [[nodiscard]] bool oldest_open_is_leaving() const noexcept { return leaving_ > taken_back_; }

    /// Makes all of the driver's waits, now and later, throw `reason`. Posted buffers are no longer accessed.
    void abandon(const std::exception_ptr& reason) noexcept;

    /// The driver's failure; null if none. Valid once a `closed` post was taken.
    [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }

    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

private:
    void post(const Post& post);

    std::uint32_t depth_;
    Doorbell& comm_bell_;
    Doorbell driver_bell_;
    SpscRing<Post> posts_;
    std::vector<Arrival> arrivals_;  // of request n at n % depth
    CompletionCounter requests_;
    CompletionCounter deliveries_;
    std::exception_ptr failure_;
    std::atomic<bool> abandoned_{false};

    std::uint64_t requested_ = 0;  // driver's side: posted
    std::uint64_t delivered_ = 0;
    std::uint64_t answered_ = 0;  // comm thread's side: completed
    std::uint64_t leaving_ = 0;
    std::uint64_t taken_back_ = 0;
};

/// Takes the posts of all drivers and calls `visit(device, post)` for each; false if there were none.
template <class Visit>
[[nodiscard]] bool take_posts(std::deque<Endpoint>& endpoints, Visit visit) {
    bool moved = false;
    for (std::uint32_t device = 0; device < endpoints.size(); ++device) {
        Post post;
        while (endpoints[device].take(post)) {
            visit(device, post);
            moved = true;
        }
    }
    return moved;
}

}  // namespace sluice

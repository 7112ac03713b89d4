#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "core/sync/completion_counter.hpp"
#include "core/sync/spsc_ring.hpp"
#include "core/transport.hpp"

namespace sluice {

/// What a device driver asks of its rank's comm thread.
struct Post {
    enum class Kind { request, deliver, closed };
    Kind kind = Kind::request;
    std::uint32_t slot = 0;     ///< request: counts 0 … depth-1 round robin; deliver: the same for deliveries.
    Chunk chunk{};              ///< deliver: whose outputs they are.
    std::span<std::byte> to{};  ///< request
    std::span<const std::byte> from{};  ///< deliver
    std::uint64_t checksum = 0;         ///< deliver: of those bytes.
};

/// The transport of one device driver: it meets the comm thread over two counters and one single-producer
/// single-consumer ring. Driver's side: Transport, close. Comm thread's side: the rest.
class Endpoint final : public Transport {
public:
    /// At most `depth` requests and `depth` deliveries are under way at once. `comm_bell` is rung at each post.
    Endpoint(std::uint32_t depth, Doorbell& comm_bell);

    [[nodiscard]] Ticket request(std::span<std::byte> to) override;
    [[nodiscard]] Event deliver(const Chunk& chunk, std::span<const std::byte> from) override;
    [[nodiscard]] Doorbell& bell() noexcept override { return driver_bell_; }

    /// The driver has ended; nothing is posted afterwards. `failure` is null if it ended well; else this returns only
    /// after abandon(), because until then the comm thread may still fill the buffers of open requests.
    void close(std::exception_ptr failure = nullptr);

    /// The next post of the driver, if there is one.
    [[nodiscard]] bool take(Post& post);

    void complete_request(const Arrival& arrival);
    void complete_delivery();

    /// The oldest chunk that the driver was given and has not delivered.
    [[nodiscard]] std::optional<Chunk> oldest_open() const;

    /// Calls `visit(chunk)` for every such chunk, oldest first.
    template <class Visit>
    void for_each_open(Visit visit) const {
        for (std::uint64_t i = taken_back_; i != answered_ && !arrivals_[i % depth_].chunk.end_of_input(); ++i) {
            visit(arrivals_[i % depth_].chunk);
        }
    }

    /// Whether its outputs are on their way already.
    [[nodiscard]] bool oldest_open_is_leaving() const noexcept { return leaving_ > taken_back_; }

    /// Everything the driver waits for, now and later, throws `reason`. No posted buffer is touched any more.
    void abandon(const std::exception_ptr& reason) noexcept;

    /// Why the driver ended; null if it did not fail. Valid once a `closed` post was taken.
    [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }

    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

private:
    void post(const Post& post);

    std::uint32_t depth_;
    Doorbell& comm_bell_;
    Doorbell driver_bell_;
    SpscRing<Post> posts_;
    std::vector<Arrival> arrivals_;  // request n's at n % depth
    CompletionCounter requests_;
    CompletionCounter deliveries_;
    std::exception_ptr failure_;
    std::atomic<bool> abandoned_{false};

    std::uint64_t requested_ = 0;  // driver's counters of what it posted
    std::uint64_t delivered_ = 0;
    std::uint64_t answered_ = 0;  // comm thread's counters of what it completed
    std::uint64_t leaving_ = 0;
    std::uint64_t taken_back_ = 0;
};

}  // namespace sluice

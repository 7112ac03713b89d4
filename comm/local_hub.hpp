#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <vector>

#include "comm/chunk_server.hpp"
#include "comm/endpoint.hpp"
#include "comm/rank_board.hpp"
#include "core/trace/trace.hpp"

namespace sluice {

/// Chunks that rank 0's comm thread sent and received: messages of other ranks, from the first one's post to the last
/// one's completion, and copies of the results of its own process's devices. In a single process there are only copies,
/// made one at a time by one thread; messages go both ways at once and are traced separately.
struct CommTrace {
    CommTrace(int ranks, std::size_t chunks)
        : scatter(ranks > 1 ? "send" : "comm", chunks), gather(ranks > 1 ? "receive" : "comm", chunks) {}

    ThreadTrace scatter;
    ThreadTrace gather;
};

/// Serves the device drivers of the chunk server's own process: tells them where items lie, which they copy, and copies
/// their results. Comm thread only.
class LocalHub {
public:
    static constexpr int rank = 0;  ///< The chunk server's.

    /// `endpoints` (one per device), `server`, `entry` (where it records open chunks) and `trace` outlive it.
    LocalHub(std::deque<Endpoint>& endpoints, ChunkServer& server, RankEntry& entry, CommTrace& trace);

    /// Handles the drivers' posts; false if there were none. Rethrows a driver's failure.
    [[nodiscard]] bool take_posts();

    /// Answers one of this rank's requests.
    void fulfil(const Grant& grant);

    /// Whether every driver has ended.
    [[nodiscard]] bool all_closed() const noexcept { return closed_ == endpoints_.size(); }

private:
    void take(Endpoint& endpoint, std::uint32_t device, const Post& post);
    void take_delivery(Endpoint& endpoint, const Post& post);

    std::deque<Endpoint>& endpoints_;
    ChunkServer& server_;
    RankEntry& entry_;
    CommTrace& trace_;
    std::size_t closed_ = 0;
};

}  // namespace sluice

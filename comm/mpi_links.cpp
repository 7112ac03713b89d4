#include "comm/mpi_links.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "comm/mpi_session.hpp"
#include "core/clock.hpp"

namespace sluice {
namespace {

constexpr int tag_size = 9;
constexpr int tag_bytes = 10;
constexpr int end_of_probe = -1;
constexpr int probe_word = 8;
constexpr int latency_rounds = 40;
constexpr std::array largest_last{1 << 16, 1 << 20, 1 << 23};
constexpr int bandwidth_rounds = 3;
constexpr double long_enough = 0.01;  // seconds per round beyond which no larger message is tried

/// Seconds of the fastest of `rounds` round trips.
double quickest(MpiSession& session, int to, std::span<std::byte> bytes, int rounds) {
    double best = Seconds(std::chrono::hours(1)).count();
    for (int i = 0; i < rounds; ++i) {
        session.send(raw_bytes(static_cast<int>(bytes.size())), to, tag_size);
        const Instant begin = Clock::now();
        session.send(bytes, to, tag_bytes);
        session.receive(bytes, to, tag_bytes);
        best = std::min(best, Seconds(Clock::now() - begin).count());
    }
    return best;
}

LinkSpeed probe(MpiSession& session, int to, std::span<std::byte> bytes) {
    LinkSpeed speed{.to = to};
    speed.latency_seconds = quickest(session, to, bytes.first(probe_word), latency_rounds) / 2;
    for (const int size : largest_last) {
        const double seconds = quickest(session, to, bytes.first(static_cast<std::size_t>(size)), bandwidth_rounds) / 2;
        speed.bytes_per_second = size / seconds;
        if (seconds > long_enough) {
            break;
        }
    }
    session.send(raw_bytes(end_of_probe), to, tag_size);
    return speed;
}

void answer(MpiSession& session, std::span<std::byte> bytes) {
    for (;;) {
        int size = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        session.begin_receive(raw_bytes(size), 0, tag_size, request);
        wait_asleep(request);
        if (size == end_of_probe) {
            return;
        }
        session.receive(bytes.first(static_cast<std::size_t>(size)), 0, tag_bytes);
        session.send(bytes.first(static_cast<std::size_t>(size)), 0, tag_bytes);
    }
}

}  // namespace

std::vector<LinkSpeed> probe_links(MpiSession& session, std::span<const int> peers) {
    std::vector<LinkSpeed> speeds;
    const bool is_peer = std::ranges::find(peers, session.rank()) != peers.end();
    if (session.rank() != 0 && !is_peer) {
        return speeds;
    }
    std::vector<std::byte> bytes(largest_last.back());
    if (session.rank() != 0) {
        answer(session, bytes);
        return speeds;
    }
    for (const int peer : peers) {
        speeds.push_back(probe(session, peer, bytes));
    }
    return speeds;
}

std::vector<int> peers_to_probe(int ranks, std::chrono::nanoseconds run) {
    constexpr std::chrono::seconds run_for_each{5};  // a link takes about 50 ms
    const std::int64_t count = std::min<std::int64_t>(ranks - 1, run / run_for_each);
    std::vector<int> peers;
    for (std::int64_t i = 0; i < count; ++i) {
        peers.push_back(static_cast<int>(1 + i * (ranks - 1) / count));
    }
    return peers;
}

}  // namespace sluice

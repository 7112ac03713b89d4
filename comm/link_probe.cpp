#include "comm/link_probe.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

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
constexpr double long_enough = 0.01;  // seconds of a round after which no larger message is tried

void send(MpiSession& session, int to, std::span<std::byte> bytes) {
    check_mpi(MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag_bytes, session.world()),
              "MPI_Send");
}

void receive(MpiSession& session, int from, std::span<std::byte> bytes) {
    check_mpi(MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag_bytes, session.world(),
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
}

void announce(MpiSession& session, int to, int size) {
    check_mpi(MPI_Send(&size, 1, MPI_INT, to, tag_size, session.world()), "MPI_Send");
}

/// Seconds of the quickest of `rounds` there and back.
double quickest(MpiSession& session, int to, std::span<std::byte> bytes, int rounds) {
    double best = std::chrono::duration<double>(std::chrono::hours(1)).count();
    for (int i = 0; i < rounds; ++i) {
        announce(session, to, static_cast<int>(bytes.size()));
        const Instant begin = Clock::now();
        send(session, to, bytes);
        receive(session, to, bytes);
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
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
    announce(session, to, end_of_probe);
    return speed;
}

void answer(MpiSession& session, std::span<std::byte> bytes) {
    for (;;) {
        int size = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Irecv(&size, 1, MPI_INT, 0, tag_size, session.world(), &request), "MPI_Irecv");
        wait_asleep(request);
        if (size == end_of_probe) {
            return;
        }
        receive(session, 0, bytes.first(static_cast<std::size_t>(size)));
        send(session, 0, bytes.first(static_cast<std::size_t>(size)));
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

}  // namespace sluice

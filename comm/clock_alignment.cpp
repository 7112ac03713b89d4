#include "comm/clock_alignment.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <vector>

#include "comm/mpi_session.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr int tag_clock = 8;

using Reading = std::int64_t;  // nanoseconds of the steady clock

Reading now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

void send(MpiSession& session, int to, const Reading* values, std::size_t count) {
    check_mpi(MPI_Send(values, static_cast<int>(count), MPI_INT64_T, to, tag_clock, session.world()), "MPI_Send");
}

void receive(MpiSession& session, int from, Reading* values, std::size_t count) {
    check_mpi(
        MPI_Recv(values, static_cast<int>(count), MPI_INT64_T, from, tag_clock, session.world(), MPI_STATUS_IGNORE),
        "MPI_Recv");
}

/// On rank 0: measures the clock of `rank` and sends it the result.
ClockOffset measure(MpiSession& session, int rank) {
    Reading ready = 0;
    receive(session, rank, &ready, 1);
    std::vector<PingPong> rounds;
    for (int i = 0; i < clock_rounds; ++i) {
        const Reading sent = now();
        send(session, rank, &sent, 1);
        Reading remote = 0;
        receive(session, rank, &remote, 1);
        const Reading received = now();
        rounds.push_back(
            {std::chrono::nanoseconds(sent), std::chrono::nanoseconds(remote), std::chrono::nanoseconds(received)});
    }
    const ClockOffset offset = offset_from(rounds);
    const std::array<Reading, 3> result{offset.offset.count(), offset.error.count(),
                                        offset.at.time_since_epoch().count()};
    send(session, rank, result.data(), result.size());
    return offset;
}

/// On another rank: sleeps until its turn, then answers at once.
ClockOffset be_measured(MpiSession& session) {
    Reading ping = 0;
    MPI_Request first = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(&ping, 1, MPI_INT64_T, 0, tag_clock, session.world(), &first), "MPI_Irecv");
    const Reading ready = 1;
    send(session, 0, &ready, 1);
    wait_asleep(first);
    for (int i = 0; i < clock_rounds; ++i) {
        const Reading mine = now();
        send(session, 0, &mine, 1);
        if (i + 1 < clock_rounds) {
            receive(session, 0, &ping, 1);
        }
    }
    std::array<Reading, 3> result{};
    receive(session, 0, result.data(), result.size());
    return {std::chrono::nanoseconds(result[0]), std::chrono::nanoseconds(result[1]),
            Instant(std::chrono::nanoseconds(result[2]))};
}

}  // namespace

ClockOffset offset_from(std::span<const PingPong> rounds) {
    expects(!rounds.empty(), "offset_from: no rounds");
    const auto length = [](const PingPong& round) { return round.received - round.sent; };
    const PingPong best = *std::ranges::min_element(rounds, {}, length);
    return {best.sent + length(best) / 2 - best.remote, (length(best) + std::chrono::nanoseconds(1)) / 2,
            Instant(best.remote)};
}

ClockOffset align_clock(MpiSession& session) {
    if (session.rank() != 0) {
        return be_measured(session);
    }
    ClockOffset worst;
    for (int rank = 1; rank < session.size(); ++rank) {
        worst.error = std::max(worst.error, measure(session, rank).error);
    }
    return worst;
}

ClockBounds share_bounds(MpiSession& session, std::span<const ClockBounds> seen) {
    expects(session.rank() != 0 || seen.size() == static_cast<std::size_t>(session.size()),
            "rank 0 has seen something of every rank");
    ClockBounds mine;
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Iscatter(seen.data(), sizeof mine, MPI_BYTE, &mine, sizeof mine, MPI_BYTE, 0, session.world(), &request),
        "MPI_Iscatter");
    wait_asleep(request);
    return mine;
}

}  // namespace sluice

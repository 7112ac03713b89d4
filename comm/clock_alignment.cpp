#include "comm/clock_alignment.hpp"

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "comm/mpi_session.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

constexpr int tag_clock = 8;

/// On rank 0: lets `rank` get ready for its turn, if there is such a rank.
void wake(MpiSession& session, int rank) {
    if (rank < session.size()) {
        session.send({}, rank, tag_clock);
    }
}

/// On rank 0: measures the clock of `rank` and sends it the result.
ClockOffset measure(MpiSession& session, int rank) {
    Instant remote;
    std::vector<PingPong> rounds;
    for (int i = 0; i < clock_rounds; ++i) {
        const Instant sent = Clock::now();
        session.send(raw_bytes(sent), rank, tag_clock);
        session.receive(raw_bytes(remote), rank, tag_clock);
        const Instant received = Clock::now();
        rounds.push_back({sent.time_since_epoch(), remote.time_since_epoch(), received.time_since_epoch()});
    }
    const ClockOffset offset = offset_from(rounds);
    session.send(raw_bytes(offset), rank, tag_clock);
    return offset;
}

/// On another rank: sleeps until shortly before its turn, then answers at once.
ClockOffset be_measured(MpiSession& session) {
    Instant ping;
    MPI_Request request = MPI_REQUEST_NULL;
    session.begin_receive({}, 0, tag_clock, request);
    wait_asleep(request);  // for wake()
    session.begin_receive(raw_bytes(ping), 0, tag_clock, request);
    wait_asleep(request);
    for (int i = 0; i < clock_rounds; ++i) {
        session.send(raw_bytes(Clock::now()), 0, tag_clock);
        if (i + 1 < clock_rounds) {
            session.receive(raw_bytes(ping), 0, tag_clock);
        }
    }
    ClockOffset result;
    session.receive(raw_bytes(result), 0, tag_clock);
    return result;
}

}  // namespace

ClockOffset offset_from(std::span<const PingPong> rounds) {
    expects(!rounds.empty(), "offset_from: no rounds");
    const auto length = [](const PingPong& round) { return round.received - round.sent; };
    const PingPong best = *std::ranges::min_element(rounds, {}, length);
    return {best.sent + length(best) / 2 - best.remote, (length(best) + std::chrono::nanoseconds(1)) / 2,
            Instant(best.remote)};
}

ClockOffset align_clock(MpiSession& session, int turns_ahead) {
    if (session.rank() != 0) {
        return be_measured(session);
    }
    ClockOffset worst;
    for (int rank = 1; rank <= turns_ahead; ++rank) {
        wake(session, rank);
    }
    for (int rank = 1; rank < session.size(); ++rank) {
        wake(session, rank + turns_ahead);
        worst.error = std::max(worst.error, measure(session, rank).error);
    }
    return worst;
}

ClockBounds share_bounds(MpiSession& session, std::span<const ClockBounds> seen) {
    expects(session.rank() != 0 || seen.size() == static_cast<std::size_t>(session.size()),
            "rank 0 has seen something of every rank");
    ClockBounds mine;
    complete_asleep("MPI_Iscatter", [&](MPI_Request* request) {
        return MPI_Iscatter(seen.data(), sizeof mine, MPI_BYTE, &mine, sizeof mine, MPI_BYTE, 0, session.world(),
                            request);
    });
    return mine;
}

}  // namespace sluice

#pragma once

#include <span>
#include <vector>

namespace sluice {

class MpiSession;

/// The way between rank 0 and another one.
struct LinkSpeed {
    int to = 0;
    double latency_seconds = 0;   ///< One way, of 8 bytes.
    double bytes_per_second = 0;  ///< One way, of the largest message that was tried.
};

/// Ping-pong of rank 0 with each of `peers`, the same on all ranks, in turn: tens of milliseconds each, also where the
/// way is slow. Collective; the result is rank 0's, elsewhere empty.
[[nodiscard]] std::vector<LinkSpeed> probe_links(MpiSession& session, std::span<const int> peers);

}  // namespace sluice

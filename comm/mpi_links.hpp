#pragma once

#include <chrono>
#include <span>
#include <vector>

namespace sluice {

class MpiSession;

/// The link between rank 0 and rank `to`.
struct LinkSpeed {
    int to = 0;
    double latency_seconds = 0;   ///< One way, for 8 bytes.
    double bytes_per_second = 0;  ///< One way, for the largest message tried.
};

/// Ping-pong of rank 0 with each of `peers` in turn, tens of milliseconds each even on slow links. Collective, with the
/// same `peers` on all ranks; the result is empty except on rank 0.
[[nodiscard]] std::vector<LinkSpeed> probe_links(MpiSession& session, std::span<const int> peers);

/// Ranks, evenly spread, whose links to probe after a run of `ranks` ranks of length `run`: as many as take about 1 %
/// of it, none after a short run. Pure.
[[nodiscard]] std::vector<int> peers_to_probe(int ranks, std::chrono::nanoseconds run);

}  // namespace sluice

#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
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

/// How this process's MPI reaches the other ranks, as far as visible from outside.
struct MpiTransport {
    std::string library{};                  ///< "Open MPI v4.1.4"; escaped.
    std::string layer{};                    ///< Open MPI's pml: "ob1", "ucx", "cm"; empty: not visible.
    std::vector<std::string> ways{};        ///< Transports below it, except to itself: "vader", "tcp", "ofi".
    std::vector<std::string> interfaces{};  ///< Of open connections: "eth0", "mlx5_0"; "lo" only if there is no other.
};

/// Components that Open MPI has loaded, from the content of /proc/PID/maps: it unloads those it does not use.
[[nodiscard]] MpiTransport transport_of_maps(std::string_view maps);

/// Of this process, after MPI has sent a message: connections are made by the first one.
[[nodiscard]] MpiTransport read_mpi_transport();

}  // namespace sluice

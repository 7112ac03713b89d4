#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
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

/// Ranks to probe the links to after a run of `ranks` that took so long, spread evenly: as many as take about one per
/// cent of it, and none after a short one. Pure.
[[nodiscard]] std::vector<int> peers_to_probe(int ranks, std::chrono::nanoseconds run);

/// By which ways this process's MPI reaches the other ranks, as far as it can be seen from outside.
struct MpiTransport {
    std::string library{};                  ///< "Open MPI v4.1.4"; escaped.
    std::string layer{};                    ///< Open MPI's pml: "ob1", "ucx", "cm"; empty: not to be seen.
    std::vector<std::string> ways{};        ///< Below it, without the one to itself: "vader", "tcp", "ofi".
    std::vector<std::string> interfaces{};  ///< Of open connections: "eth0", "mlx5_0"; "lo" only where it is all.
};

/// What Open MPI has loaded, by the content of /proc/PID/maps: it unloads what it does not take.
[[nodiscard]] MpiTransport transport_of_maps(std::string_view maps);

/// Of this process. MPI is initialized, and has sent something: connections come with the first message.
[[nodiscard]] MpiTransport read_mpi_transport();

}  // namespace sluice

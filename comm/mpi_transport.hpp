#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

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

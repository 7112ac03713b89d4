#pragma once

#include <string>

#include "comm/chunk_server.hpp"
#include "comm/local_hub.hpp"
#include "core/doorbell.hpp"
#include "core/stop_request.hpp"

namespace sluice {

/// The other ranks, as rank 0's comm thread sees them.
class RemoteHub {
public:
    RemoteHub() = default;
    RemoteHub(const RemoteHub&) = delete;
    RemoteHub& operator=(const RemoteHub&) = delete;
    virtual ~RemoteHub() = default;

    /// Moves messages on and tells the chunk server. False when nothing happened. Throws what another rank reported.
    [[nodiscard]] virtual bool progress() = 0;

    /// Sends a grant to its rank.
    virtual void send(const Grant& grant) = 0;

    /// Every other rank has ended and nothing is under way.
    [[nodiscard]] virtual bool all_closed() const = 0;

    /// Chunks or results are on their way.
    [[nodiscard]] virtual bool in_transit() const = 0;
};

/// Rank 0's comm loop: serves chunks until every one is written and every driver has ended. `remote` is null in a
/// single process; then it sleeps on `bell` whenever nothing moves. Throws the first failure, Error (stopped_early) for
/// a stop.
void serve(ChunkServer& server, LocalHub& local, RemoteHub* remote, Doorbell& bell, const StopRequest& stop);

/// Throws Error (stopped_early) when a stop was asked for; `progress` follows the signal's name.
void throw_if_stopped(const StopRequest& stop, const std::string& progress = {});

}  // namespace sluice

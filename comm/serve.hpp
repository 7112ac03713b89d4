#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "comm/chunk_server.hpp"
#include "comm/local_hub.hpp"
#include "core/interface.hpp"
#include "core/sync/doorbell.hpp"
#include "core/sync/stop_request.hpp"
#include "core/trace/activities.hpp"

namespace sluice {

/// The other ranks, as rank 0's comm thread sees them.
class RemoteHub : public Interface {
public:
    /// Advances messages and informs the chunk server. False if nothing happened. Throws another rank's failure.
    [[nodiscard]] virtual bool progress() = 0;

    /// Sends a grant to its rank.
    virtual void send(const Grant& grant) = 0;

    /// Whether every other rank has ended and no message is pending.
    [[nodiscard]] virtual bool all_closed() const = 0;

    /// Whether chunks or results are in transit, or being copied.
    [[nodiscard]] virtual bool in_transit() const = 0;

    /// Stop request of the first of the other ranks that got one.
    [[nodiscard]] virtual StopCause stop() const = 0;

    /// Tells all ranks that the run drains. From then on all send several heartbeats per second.
    virtual void announce_drain() = 0;

    /// After announce_drain(): a rank that was heard from, has not ended and has been silent for longer than `longest`.
    [[nodiscard]] virtual std::optional<int> find_silent(std::chrono::nanoseconds longest) const = 0;
};

/// Interval of each rank's heartbeats while a run drains or ends.
inline constexpr std::chrono::milliseconds between_heartbeats{250};

/// Longest silence of a rank while a run drains. Never so short that a late heartbeat counts as a death; if the drain
/// timeout is shorter, the run ends as stopped.
[[nodiscard]] constexpr std::chrono::nanoseconds longest_silence(std::chrono::nanoseconds drain_timeout) noexcept {
    return std::max<std::chrono::nanoseconds>(drain_timeout / 4, 8 * between_heartbeats);
}

struct ServeOptions {
    Activity* activity = nullptr;                                       ///< Where this thread reports whether it waits.
    std::chrono::nanoseconds drain_timeout = std::chrono::seconds(20);  ///< For chunks in flight at a stop request.
    std::function<void(const StopCause&)> on_drain{};                   ///< Called at a stop request.
};

struct Served {
    StopCause stop{};       ///< Origin of the stop request.
    bool gave_up = false;   ///< The time for chunks in flight was over before all were returned.
    bool at_limit = false;  ///< That time ended with StopRequest::chunks_end(), not with drain_timeout.
    int lost_rank = 0;      ///< Rank that was silent for too long while the run drained; 0: none.
};

/// Rank 0's comm loop: serves chunks until every one is written and every driver has ended. At a stop request it drains
/// the server: chunks in flight are finished, and drivers get the end of the input. A rank that is silent for longer
/// than longest_silence(drain_timeout) meanwhile is lost: whoever requested the stop may have killed it. With null
/// `remote`, a single process, it sleeps on `bell` when idle. Throws the first failure.
[[nodiscard]] Served serve(ChunkServer& server, LocalHub& local, RemoteHub* remote, Doorbell& bell,
                           const StopRequest& stop, const ServeOptions& options = {});

}  // namespace sluice

#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "comm/chunk_server.hpp"
#include "comm/local_hub.hpp"
#include "core/doorbell.hpp"
#include "core/sync/stop_request.hpp"
#include "core/trace/activities.hpp"

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

    /// The first of the other ranks that was asked to stop.
    [[nodiscard]] virtual StopCause stop() const = 0;

    /// Tells all ranks that the run drains. From then on all send heartbeats several times a second.
    virtual void announce_drain() = 0;

    /// After that: a rank that was heard of, has not ended and has been silent for longer than `longest`.
    [[nodiscard]] virtual std::optional<int> find_silent(std::chrono::nanoseconds longest) const = 0;
};

/// While a run drains or ends, each rank sends a heartbeat so often, as far as the machine lets it.
inline constexpr std::chrono::milliseconds between_heartbeats{250};

/// While a run drains, a rank has to be heard of more often than so. Never so short that a late heartbeat is a death:
/// where the time to drain ends first, the run ends as stopped.
[[nodiscard]] constexpr std::chrono::nanoseconds longest_silence(std::chrono::nanoseconds drain_timeout) noexcept {
    return std::max<std::chrono::nanoseconds>(drain_timeout / 4, 8 * between_heartbeats);
}

struct ServeOptions {
    Activity* activity = nullptr;  ///< Where this thread says whether it waits.
    std::chrono::nanoseconds drain_timeout =
        std::chrono::seconds(20);                      ///< For what is in flight when a stop is asked for.
    std::function<void(const StopCause&)> on_drain{};  ///< Called when it is.
};

struct Served {
    StopCause stop{};      ///< Who asked for a stop.
    bool gave_up = false;  ///< drain_timeout was over: some of what was in flight did not come back.
    int lost_rank = 0;     ///< That rank was silent for too long while the run drained; 0: none.
};

/// Rank 0's comm loop: serves chunks until every one is written and every driver has ended. When a stop is asked for,
/// it drains the server: the chunks in flight are finished, and drivers get the end of the input. A rank that gives no
/// heartbeat for a quarter of drain_timeout meanwhile is lost: whoever asked for the stop may have killed it.
/// `remote` is null in a single process; then it sleeps on `bell` whenever nothing moves. Throws the first failure.
[[nodiscard]] Served serve(ChunkServer& server, LocalHub& local, RemoteHub* remote, Doorbell& bell,
                           const StopRequest& stop, const ServeOptions& options = {});

}  // namespace sluice

#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "comm/mpi_session.hpp"
#include "comm/wire.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Rank 0's heartbeats, the only sign of its process on other nodes. Only for the thread that makes rank 0's MPI calls.
/// Allocates nothing after construction except send_while()'s thread.
class RootHeartbeat {
public:
    /// `session` outlives it.
    explicit RootHeartbeat(MpiSession& session);
    ~RootHeartbeat();
    RootHeartbeat(const RootHeartbeat&) = delete;
    RootHeartbeat& operator=(const RootHeartbeat&) = delete;

    /// Sets the interval of heartbeats; 0, the initial value: never.
    void send_every(std::chrono::nanoseconds pause) noexcept { pause_ = pause; }

    /// Sends every other rank a heartbeat if one is due by `now`, except ranks whose last one is still pending, and
    /// unreachable ranks, whose silence is detected elsewhere.
    void send_if_due(Instant now) noexcept;

    /// Runs `action` in its own thread and sends several heartbeats per second meanwhile. Rethrows its exception.
    void send_while(const std::function<void()>& action);

    /// Whether no heartbeat is pending.
    [[nodiscard]] bool have_left() noexcept;

private:
    struct Rank {
        MPI_Request under_way = MPI_REQUEST_NULL;
        bool is_lost = false;
    };
    [[nodiscard]] static bool has_left(Rank& rank) noexcept;

    MpiSession& session_;
    ControlMessage heartbeat_{.kind = ControlMessage::Kind::heartbeat};
    std::vector<Rank> ranks_;
    std::chrono::nanoseconds pause_{0};
    Instant last_{};
};

}  // namespace sluice

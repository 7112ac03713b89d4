#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "comm/mpi_session.hpp"
#include "comm/wire.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Rank 0's heartbeats: of its process the ranks of other nodes see nothing else. For the thread that makes rank 0's
/// MPI calls. Allocates nothing after construction, but for send_while()'s thread.
class RootHeartbeat {
public:
    /// `session` outlives it.
    explicit RootHeartbeat(MpiSession& session);
    ~RootHeartbeat();
    RootHeartbeat(const RootHeartbeat&) = delete;
    RootHeartbeat& operator=(const RootHeartbeat&) = delete;

    /// From now on a heartbeat is due so often; 0, as at first: never.
    void send_every(std::chrono::nanoseconds pause) noexcept { pause_ = pause; }

    /// A heartbeat to every other rank, if one is due by `now`; none to a rank that the last one has not left for, and
    /// no more to one that cannot be reached: that it is silent, too, is noticed elsewhere.
    void send_if_due(Instant now) noexcept;

    /// Lets `action` run in a thread of its own, and sends heartbeats meanwhile, several a second. Throws what it
    /// throws.
    void send_while(const std::function<void()>& action);

    /// No heartbeat is under way any more.
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

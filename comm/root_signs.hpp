#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "comm/mpi_session.hpp"
#include "comm/wire.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Rank 0's signs of life: of its process the ranks of other nodes see nothing else. For the thread that makes rank 0's
/// MPI calls. Allocates nothing after construction, but for give_while()'s thread.
class RootSigns {
public:
    /// `session` outlives it.
    explicit RootSigns(MpiSession& session);
    ~RootSigns();
    RootSigns(const RootSigns&) = delete;
    RootSigns& operator=(const RootSigns&) = delete;

    /// From now on a sign is due so often; 0, as at first: never.
    void give_every(std::chrono::nanoseconds pause) noexcept { pause_ = pause; }

    /// A sign to every other rank, if one is due by `now`; none to a rank that the last one has not left for, and no
    /// more to one that cannot be reached: that it is silent, too, is noticed elsewhere.
    void give_if_due(Instant now) noexcept;

    /// Lets `action` run in a thread of its own, and gives signs meanwhile, several a second. Throws what it throws.
    void give_while(const std::function<void()>& action);

    /// No sign is under way any more.
    [[nodiscard]] bool have_left() noexcept;

private:
    struct Rank {
        MPI_Request under_way = MPI_REQUEST_NULL;
        bool is_lost = false;
    };
    [[nodiscard]] static bool has_left(Rank& rank) noexcept;

    MpiSession& session_;
    ControlMessage sign_{.kind = ControlMessage::Kind::sign};
    std::vector<Rank> ranks_;
    std::chrono::nanoseconds pause_{0};
    Instant last_{};
};

}  // namespace sluice

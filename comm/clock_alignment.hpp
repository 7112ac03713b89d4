#pragma once

#include <chrono>
#include <span>

#include "comm/clock_bounds.hpp"
#include "core/clock.hpp"

namespace sluice {

class MpiSession;

/// How a rank's clock relates to rank 0's.
struct ClockOffset {
    std::chrono::nanoseconds offset{0};  ///< Rank 0's clock − this rank's: add to a local time.
    std::chrono::nanoseconds error{0};   ///< The offset is within ± this.
    Instant at{};                        ///< Time of the alignment, by this rank's clock.
};

/// Three readings of one ping-pong: rank 0 sends at `sent`, the other rank reads `remote`, rank 0 receives at
/// `received`.
struct PingPong {
    std::chrono::nanoseconds sent{0};
    std::chrono::nanoseconds remote{0};
    std::chrono::nanoseconds received{0};
};

/// The remote reading lies between `sent` and `received`: the fastest round gives the tightest bound (Cristian 1989).
/// `rounds` is not empty.
[[nodiscard]] ClockOffset offset_from(std::span<const PingPong> rounds);

inline constexpr int clock_rounds = 32;

/// Ping-pong of rank 0 with each other rank in turn; a clock that drifts is aligned again later (RootTime). Collective.
/// A rank sleeps until rank 0 is `turns_ahead` ranks (at least 1) before it: a rank wakes up in a millisecond or two,
/// a turn takes a tenth of one. Returns this rank's offset; on rank 0 zero, with the largest error of all ranks.
[[nodiscard]] ClockOffset align_clock(MpiSession& session, int turns_ahead = 8);

/// Distributes `seen`, rank 0's bounds by rank (empty on other ranks), and returns this rank's. Collective.
[[nodiscard]] ClockBounds share_bounds(MpiSession& session, std::span<const ClockBounds> seen);

}  // namespace sluice

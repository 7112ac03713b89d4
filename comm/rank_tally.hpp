#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace sluice {

/// What each rank has delivered so far: written by rank 0's comm thread, read by any other while the run goes on.
class RankTally {
public:
    explicit RankTally(std::size_t ranks) : ranks_(ranks), begun_(Clock::now()) {}

    struct Count {
        std::uint64_t chunks = 0;
        std::uint64_t items = 0;
        Instant last{};  ///< When the last chunk came; before the first, when counting began.
    };

    /// A chunk of `items` items has come back `took` after it was handed out.
    void add(std::size_t rank, std::uint64_t items, Clock::duration took, Instant now) noexcept;

    [[nodiscard]] std::size_t ranks() const noexcept { return ranks_.size(); }
    [[nodiscard]] Count of(std::size_t rank) const noexcept;

    /// The longest time from handing a chunk out to its results; 0 before the first.
    [[nodiscard]] Clock::duration slowest_chunk() const noexcept {
        return Clock::duration(slowest_.load(std::memory_order_relaxed));
    }

private:
    struct Cell {
        std::atomic<std::uint64_t> chunks{0};
        std::atomic<std::uint64_t> items{0};
        std::atomic<Clock::rep> last{0};  // 0: none yet
    };

    std::vector<Cell> ranks_;
    Instant begun_;
    std::atomic<Clock::rep> slowest_{0};
};

}  // namespace sluice

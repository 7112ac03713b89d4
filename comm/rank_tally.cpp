#include "comm/rank_tally.hpp"

#include <algorithm>

namespace sluice {

// One thread writes: its own last value is all that it needs to add to.

void RankTally::add(std::size_t rank, std::uint64_t items, Clock::duration took, Instant now) noexcept {
    Cell& cell = ranks_[rank];
    constexpr auto relaxed = std::memory_order_relaxed;
    cell.chunks.store(cell.chunks.load(relaxed) + 1, relaxed);
    cell.items.store(cell.items.load(relaxed) + items, relaxed);
    cell.last.store(now.time_since_epoch().count(), relaxed);
    slowest_.store(std::max(slowest_.load(relaxed), took.count()), relaxed);
}

RankTally::Count RankTally::of(std::size_t rank) const noexcept {
    const Cell& cell = ranks_[rank];
    constexpr auto relaxed = std::memory_order_relaxed;
    const Clock::rep last = cell.last.load(relaxed);
    return {.chunks = cell.chunks.load(relaxed),
            .items = cell.items.load(relaxed),
            .last = last == 0 ? begun_ : Instant(Clock::duration(last))};
}

}  // namespace sluice

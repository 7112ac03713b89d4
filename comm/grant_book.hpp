#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/chunk.hpp"

namespace sluice {

/// Which rank holds which chunk, and what each has returned, for those who look while rank 0's comm thread may be
/// stuck. That thread writes, anyone reads, without a lock: entries may be a moment apart.
class GrantBook {
public:
    GrantBook(std::size_t window, std::size_t ranks) : open_(window), ranks_(ranks) {}

    // The comm thread's; open grants are numbered without a gap.
    void granted(std::size_t place, const Chunk& chunk, int rank) noexcept;
    /// The grant at `place` is over; the one at `last` takes its place.
    void returned(std::size_t place, std::size_t last, const Chunk& chunk, int rank) noexcept;
    void heard(int rank) noexcept;

    struct Grant {
        std::uint64_t chunk = 0;
        int rank = 0;
    };
    struct Rank {
        std::uint64_t chunks = 0;  ///< Returned.
        std::uint64_t items = 0;
        std::uint64_t words = 0;  ///< Messages so far.
    };

    /// Calls `visit(chunk, rank)` for every open grant, in any order; by what signal-safety(7) allows, if visit is.
    template <class Visit>
    void for_each_open(Visit visit) const noexcept {
        for (const Place& place : open_) {
            const std::uint64_t chunk = place.chunk.load(std::memory_order_relaxed);
            if (chunk != none) {
                visit(chunk, place.rank.load(std::memory_order_relaxed));
            }
        }
    }

    /// Oldest chunk first.
    [[nodiscard]] std::vector<Grant> open() const;
    [[nodiscard]] std::vector<Rank> ranks() const;

private:
    static constexpr std::uint64_t none = UINT64_MAX;
    struct Place {
        std::atomic<std::uint64_t> chunk{none};
        std::atomic<int> rank{0};
    };
    struct Counts {
        std::atomic<std::uint64_t> chunks{0};
        std::atomic<std::uint64_t> items{0};
        std::atomic<std::uint64_t> words{0};
    };

    std::vector<Place> open_;
    std::vector<Counts> ranks_;
};

}  // namespace sluice

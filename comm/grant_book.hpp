#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/chunk.hpp"
#include "core/clock.hpp"

namespace sluice {

/// Which rank holds which chunk, and what each has delivered. Rank 0's comm thread writes; any thread may read
/// concurrently, even if the writer hangs: lock-free, so entries may be slightly inconsistent. Allocates only at
/// construction.
class GrantBook {
public:
    /// At most `window` chunks are held at once.
    GrantBook(std::size_t window, std::size_t ranks, Instant now = Clock::now())
        : open_(window), ranks_(ranks), begun_(now), ticked_(now.time_since_epoch().count()) {}

    // Comm thread only.
    void granted(const Chunk& chunk, int rank, Instant now = Clock::now()) noexcept;
    /// Throws ContractViolation unless `rank` holds `chunk`.
    void returned(const Chunk& chunk, int rank, Instant now = Clock::now());
    /// Throws ContractViolation unless `rank` holds `chunk`.
    void check_holds(const Chunk& chunk, int rank) const { static_cast<void>(find(chunk, rank)); }
    /// Notes a message from `rank`.
    void heard(int rank) noexcept;

    /// By one thread, several times a second. Where it comes late, the process was suspended meanwhile, except for the
    /// time for which the thread was `delayed`: it waited for a CPU.
    void tick(Instant now, Clock::duration delayed) noexcept;

    struct OpenGrant {
        std::uint64_t chunk = 0;
        int rank = 0;
    };
    struct Rank {
        std::uint64_t chunks = 0;  ///< Returned.
        std::uint64_t items = 0;
        std::uint64_t messages = 0;  ///< Received.
        Instant last{};  ///< When the last chunk was returned; before the first, when the book was constructed.
    };

    /// Calls `visit(chunk, rank)` for every open grant, in any order; async-signal-safe if `visit` is.
    template <class Visit>
    void for_each_open(Visit visit) const noexcept {
        for (const Place& place : open_) {
            const std::uint64_t chunk = place.id.load(std::memory_order_relaxed);
            if (chunk != none) {
                visit(chunk, place.rank.load(std::memory_order_relaxed));
            }
        }
    }

    /// Oldest chunk first.
    [[nodiscard]] std::vector<OpenGrant> open() const;
    [[nodiscard]] std::vector<std::uint64_t> held_by(int rank) const;
    [[nodiscard]] std::vector<Rank> ranks() const;

    /// Time since construction; of each time in which the process was suspended, a second counts. Beside tick() it may
    /// be off by as much as two ticks may be apart.
    [[nodiscard]] Clock::duration running_time(Instant now) const noexcept;

    /// Longest time from grant to results, without that in which the process was suspended; 0 before the first.
    [[nodiscard]] Clock::duration slowest_chunk() const noexcept {
        return Clock::duration(slowest_.load(std::memory_order_relaxed));
    }

private:
    static constexpr std::uint64_t none = UINT64_MAX;
    struct Place {
        std::atomic<std::uint64_t> id{none};
        std::atomic<int> rank{0};
        Chunk chunk{};                 // comm thread only
        Clock::duration granted_at{};  // by running_time(), comm thread only
    };
    struct Counts {
        std::atomic<std::uint64_t> chunks{0};
        std::atomic<std::uint64_t> items{0};
        std::atomic<std::uint64_t> messages{0};
        std::atomic<Clock::rep> last{0};  // 0: none yet
    };

    [[nodiscard]] Clock::duration running_time(Instant now, Clock::duration delayed) const noexcept;
    static void put(Place& place, const Chunk& chunk, int rank, Clock::duration granted_at) noexcept;
    [[nodiscard]] std::size_t find(const Chunk& chunk, int rank) const;

    std::vector<Place> open_;  // the first open_count_ are searched
    std::size_t open_count_ = 0;
    std::vector<Counts> ranks_;
    Instant begun_;
    std::atomic<Clock::rep> slowest_{0};
    std::atomic<Clock::rep> ran_{0};  // until the last tick
    std::atomic<Clock::rep> ticked_;
};

}  // namespace sluice

#include "comm/grant_book.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sluice {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr Clock::duration longest_between_ticks = std::chrono::seconds(1);

/// For a single writer thread.
void add(std::atomic<std::uint64_t>& to, std::uint64_t what) noexcept {
    to.store(to.load(relaxed) + what, relaxed);
}

}  // namespace

void GrantBook::granted(const Chunk& chunk, int rank, Instant now) noexcept {
    put(open_[open_count_++], chunk, rank, running_time(now));
}

void GrantBook::returned(const Chunk& chunk, int rank, Instant now) {
    Place& place = open_[find(chunk, rank)];
    slowest_.store(std::max(slowest_.load(relaxed), (running_time(now) - place.granted_at).count()), relaxed);
    Place& last = open_[--open_count_];
    put(place, last.chunk, last.rank.load(relaxed), last.granted_at);
    last.id.store(none, relaxed);
    Counts& counts = ranks_[static_cast<std::size_t>(rank)];
    add(counts.chunks, 1);
    add(counts.items, chunk.count);
    counts.last.store(now.time_since_epoch().count(), relaxed);
    heard(rank);
}

void GrantBook::heard(int rank) noexcept {
    add(ranks_[static_cast<std::size_t>(rank)].messages, 1);
}

void GrantBook::tick(Instant now, Clock::duration delayed) noexcept {
    ran_.store(running_time(now, delayed).count(), relaxed);
    ticked_.store(now.time_since_epoch().count(), relaxed);
}

std::vector<GrantBook::OpenGrant> GrantBook::open() const {
    std::vector<OpenGrant> grants;
    for_each_open([&](std::uint64_t chunk, int rank) { grants.push_back({.chunk = chunk, .rank = rank}); });
    std::ranges::sort(grants, {}, &OpenGrant::chunk);
    return grants;
}

std::vector<std::uint64_t> GrantBook::held_by(int rank) const {
    std::vector<std::uint64_t> chunks;
    for (const OpenGrant& grant : open()) {
        if (grant.rank == rank) {
            chunks.push_back(grant.chunk);
        }
    }
    return chunks;
}

std::vector<GrantBook::Rank> GrantBook::ranks() const {
    std::vector<Rank> ranks;
    for (const Counts& counts : ranks_) {
        const Clock::rep last = counts.last.load(relaxed);
        ranks.push_back({.chunks = counts.chunks.load(relaxed),
                         .items = counts.items.load(relaxed),
                         .messages = counts.messages.load(relaxed),
                         .last = last == 0 ? begun_ : Instant(Clock::duration(last))});
    }
    return ranks;
}

Clock::duration GrantBook::running_time(Instant now) const noexcept {
    return running_time(now, Clock::duration(0));
}

Clock::duration GrantBook::running_time(Instant now, Clock::duration delayed) const noexcept {
    const Clock::duration since_tick = now - Instant(Clock::duration(ticked_.load(relaxed)));
    return Clock::duration(ran_.load(relaxed)) + std::min(since_tick, longest_between_ticks + delayed);
}

void GrantBook::put(Place& place, const Chunk& chunk, int rank, Clock::duration granted_at) noexcept {
    place.chunk = chunk;
    place.granted_at = granted_at;
    place.rank.store(rank, relaxed);
    place.id.store(chunk.id, relaxed);
}

std::size_t GrantBook::find(const Chunk& chunk, int rank) const {
    const auto end = open_.begin() + static_cast<std::ptrdiff_t>(open_count_);
    const auto held = std::find_if(open_.begin(), end,
                                   [&](const Place& p) { return p.chunk == chunk && p.rank.load(relaxed) == rank; });
    expects(held != end, "GrantBook: a result for a chunk that was not granted to this rank");
    return static_cast<std::size_t>(held - open_.begin());
}

}  // namespace sluice

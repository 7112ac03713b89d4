#include "comm/grant_book.hpp"

#include <algorithm>

namespace sluice {
namespace {

/// By one thread alone.
void add(std::atomic<std::uint64_t>& to, std::uint64_t what) noexcept {
    to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
}

}  // namespace

void GrantBook::granted(std::size_t place, const Chunk& chunk, int rank) noexcept {
    open_[place].rank.store(rank, std::memory_order_relaxed);
    open_[place].chunk.store(chunk.id, std::memory_order_relaxed);
}

void GrantBook::returned(std::size_t place, std::size_t last, const Chunk& chunk, int rank) noexcept {
    open_[place].rank.store(open_[last].rank.load(std::memory_order_relaxed), std::memory_order_relaxed);
    open_[place].chunk.store(open_[last].chunk.load(std::memory_order_relaxed), std::memory_order_relaxed);
    open_[last].chunk.store(none, std::memory_order_relaxed);
    Counts& counts = ranks_[static_cast<std::size_t>(rank)];
    add(counts.chunks, 1);
    add(counts.items, chunk.count);
    heard(rank);
}

void GrantBook::heard(int rank) noexcept {
    add(ranks_[static_cast<std::size_t>(rank)].words, 1);
}

std::vector<GrantBook::Grant> GrantBook::open() const {
    std::vector<Grant> grants;
    for_each_open([&](std::uint64_t chunk, int rank) { grants.push_back({.chunk = chunk, .rank = rank}); });
    std::ranges::sort(grants, {}, &Grant::chunk);
    return grants;
}

std::vector<GrantBook::Rank> GrantBook::ranks() const {
    std::vector<Rank> ranks;
    for (const Counts& counts : ranks_) {
        ranks.push_back({.chunks = counts.chunks.load(std::memory_order_relaxed),
                         .items = counts.items.load(std::memory_order_relaxed),
                         .words = counts.words.load(std::memory_order_relaxed)});
    }
    return ranks;
}

}  // namespace sluice

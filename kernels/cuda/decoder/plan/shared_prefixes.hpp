#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Prefixes that several prompts of a chunk begin with: they go through the decoder once, before the chunk's texts,
/// whose page tables begin with their pages. As keys and values of a position depend on the text before only, that
/// changes no bit of a continuation.
namespace sluice::decoder {

struct Check;
struct Memory;
struct Rule;

/// What a prompt's tokens up to the end of a page, or of some pages, are, in a hash table.
struct PrefixNode {
    unsigned long long hash;  ///< 0: the place is free.
    std::uint32_t not_first;  ///< ~ of the first item that begins with them.
    std::uint32_t items;      ///< How many items do.
};

/// An item's path through the tree of prefixes, in pages.
struct PrefixPath {
    std::uint32_t pages;   ///< Which other items begin with, too.
    std::uint32_t owned;   ///< The last of those: it is the first item that begins with them.
    std::uint32_t level;   ///< How many other items own those before.
    std::uint32_t first;   ///< Index in SharedPrefixes::pages of the first that it owns; no_prefix: there are none.
    std::uint32_t shared;  ///< Those that its text uses.
};
inline constexpr std::uint32_t no_prefix = UINT32_MAX;
inline constexpr std::uint32_t prefix_levels = 64;  ///< Prefixes further down the tree are not shared.

/// Device memory.
struct SharedPrefixes {
    std::uint32_t most_pages = 0;  ///< Of a prompt, before its last token; 0: nothing is shared.
    std::uint32_t items = 0;       ///< Later ones of a chunk share nothing.
    std::uint32_t most_nodes = 0;
    std::uint32_t room = 0;           ///< Pages of the cache that prefixes may have.
    PrefixNode* nodes = nullptr;      ///< (most_nodes)
    std::uint32_t* owners = nullptr;  ///< (items, most_pages): who owns the pages of its path.
    PrefixPath* paths = nullptr;      ///< (items)
    std::uint32_t* texts =
        nullptr;  ///< (items): those whose own pages are computed, by level; Batch::prefixes of them.
    std::uint32_t* pages = nullptr;  ///< (room): Batch::shared_pages pages of the cache.
};

/// More of the nodes than there may be are free, so that searching takes few steps.
[[nodiscard]] constexpr std::uint64_t prefix_nodes(std::uint64_t items, std::uint32_t most_pages) {
    return items * most_pages * 3 / 2;
}

/// At the begin of a chunk, whose items the batch has: finds its prefixes, and takes their pages from the free ones, if
/// that saves enough. `checks`: those of drafts, whose items without one share nothing; null: there are none.
void enqueue_find_prefixes(const Memory& memory, const Rule& rule, const Check* checks, cudaStream_t stream);

}  // namespace sluice::decoder

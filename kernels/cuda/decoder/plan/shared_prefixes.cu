#include "kernels/cuda/decoder/plan/shared_prefixes.hpp"

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/counts.cuh"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/plan/checks.hpp"
#include "kernels/cuda/decoder/plan/chunk_io.cuh"
#include "kernels/cuda/decoder/plan/prefix_pages.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"

namespace sluice::decoder {
namespace {

constexpr std::uint32_t find_threads = 128;
constexpr std::uint32_t find_warps = find_threads / warp_lanes;
constexpr std::uint32_t most_find_blocks = 16 * hopper_multiprocessors;
constexpr std::uint32_t choose_threads = 1024;

/// Prefixes have passes of their own before the others: less than a 64th of all rows is not worth them.
constexpr std::uint32_t least_saved_share = 64;

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
__device__ __forceinline__ std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

__device__ std::uint64_t hash_of_page(const std::uint32_t* tokens) {
    std::uint64_t hash = 0;
    for (std::uint32_t i = 0; i < page_positions; i += 2) {
        hash = mix(hash ^ (tokens[i] | std::uint64_t{tokens[i + 1]} << 32U));
    }
    return hash;
}

/// Items of a chunk that may share prefixes.
class Sharing {
public:
    __device__ __forceinline__ Sharing(const Memory& memory, const Rule& rule, const Check* checks)
        : memory_(memory), rule_(rule), checks_(checks), items_(min(memory.batch->items, memory.shared.items)) {}

    [[nodiscard]] __device__ __forceinline__ std::uint32_t items() const { return items_; }
    [[nodiscard]] __device__ __forceinline__ const std::uint32_t* tokens(std::uint32_t item) const {
        return prompt_of(memory_.batch->in, rule_, item).tokens;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t count(std::uint32_t item) const {
        return prompt_of(memory_.batch->in, rule_, item).start.tokens;
    }
    [[nodiscard]] __device__ __forceinline__ bool is_computed(std::uint32_t item) const {
        return checks_ == nullptr || checks_[item].choices != 0;
    }
    [[nodiscard]] __device__ __forceinline__ bool is_long(std::uint32_t item) const {
        return count(item) >= memory_.long_prompt;
    }
    /// Prompts share multiples of so many pages: the kernel for long ones takes 64 keys at a time.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t unit(std::uint32_t item) const {
        return is_long(item) ? 64 / page_positions : 1;
    }
    /// Pages of a prompt that others may share, in whole units: the last token is its own.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t pages(std::uint32_t item) const {
        if (!is_computed(item)) {
            return 0;
        }
        const std::uint32_t pages = min((count(item) - 1) / page_positions, memory_.shared.most_pages);
        return pages - pages % unit(item);
    }
    /// Whether an item's prompt has, and could share, the tokens of another one's up to the end of page number `page`;
    /// they are known to be equal before position `begin`. Called by a warp.
    [[nodiscard]] __device__ bool begins_as(std::uint32_t item, std::uint32_t other, std::uint32_t begin,
                                            std::uint32_t page) const {
        bool same = page < pages(other) && is_long(item) == is_long(other);
        const std::uint32_t end = same ? (page + 1) * page_positions : 0;
        const std::uint32_t* const own = tokens(item);
        const std::uint32_t* const others = tokens(other);
        for (std::uint32_t i = begin + threadIdx.x % warp_lanes; i < end; i += warp_lanes) {
            same = same && own[i] == others[i];
        }
        return __all_sync(every_lane, same) != 0;
    }

private:
    const Memory& memory_;
    const Rule& rule_;
    const Check* checks_;
    std::uint32_t items_;
};

constexpr std::uint32_t no_node = UINT32_MAX;

/// Adds an item to the node with a hash. The node's place; no_node for all items with this hash, if too many nodes have
/// places near its own, which takes design.
__device__ std::uint32_t add_to_node(const SharedPrefixes& shared, std::uint64_t hash, std::uint32_t item) {
    const std::uint64_t key = hash == 0 ? 1 : hash;
    constexpr std::uint32_t most_probes = 1024;  // without design some 200 at most, in full tables
    auto at = static_cast<std::uint32_t>(__umul64hi(key, shared.most_nodes));
    for (std::uint32_t probe = 0; probe < most_probes; ++probe) {
        const std::uint64_t other = atomicCAS(&shared.nodes[at].hash, 0ULL, key);
        if (other == 0 || other == key) {
            atomicMax(&shared.nodes[at].not_first, ~item);
            atomicAdd(&shared.nodes[at].items, 1U);
            return at;
        }
        at = at + 1 == shared.most_nodes ? 0 : at + 1;
    }
    return no_node;
}

/// One warp per item: adds its prefixes, a node for each unit of pages. Until find_paths `owners` are nodes' places.
__global__ void __launch_bounds__(find_threads) add_prefixes(Memory memory, Rule rule, const Check* checks) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;  // a page of zeros changes the hash, too
    const SharedPrefixes& shared = memory.shared;
    const Sharing sharing(memory, rule, checks);
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * find_warps;
    for (std::uint32_t item = (blockIdx.x * find_threads + threadIdx.x) / warp_lanes; item < sharing.items();
         item += step) {
        const std::uint32_t* const tokens = sharing.tokens(item);
        const std::uint32_t pages = sharing.pages(item);
        const std::uint32_t unit = sharing.unit(item);
        // What attends by other kernels has other bits.
        std::uint64_t hash = sharing.is_long(item) ? 1 : 0;
        for (std::uint32_t first = 0; first < pages; first += warp_lanes) {
            const std::uint32_t page = first + lane;
            const std::uint64_t of_page = page < pages ? hash_of_page(tokens + page * page_positions) : 0;
            std::uint64_t own = 0;
            for (std::uint32_t i = 0; i < min(warp_lanes, pages - first); ++i) {
                hash = mix(hash + odd + __shfl_sync(every_lane, of_page, static_cast<int>(i)));
                own = lane == i ? hash : own;
            }
            const bool ends_unit = page % unit == unit - 1;
            const std::uint32_t added = page < pages && ends_unit ? add_to_node(shared, own, item) : 0;
            const std::uint32_t node = __shfl_sync(every_lane, added, static_cast<int>(lane / unit * unit + unit - 1));
            if (page < pages) {
                shared.owners[std::size_t{item} * shared.most_pages + page] = node;
            }
        }
    }
}

/// One warp per item: who owns the pages that it shares. An owner's tokens are compared, as hashes may be equal by
/// design: then it has the same path up to there, and has found so itself.
__global__ void __launch_bounds__(find_threads) find_paths(Memory memory, Rule rule, const Check* checks) {
    const SharedPrefixes& shared = memory.shared;
    const Sharing sharing(memory, rule, checks);
    const std::uint32_t step = gridDim.x * find_warps;
    for (std::uint32_t item = (blockIdx.x * find_threads + threadIdx.x) / warp_lanes; item < sharing.items();
         item += step) {
        const std::uint32_t pages = sharing.pages(item);
        std::uint32_t* const owners = shared.owners + std::size_t{item} * shared.most_pages;
        std::uint32_t compared = item;  // whose tokens are equal up to here
        std::uint32_t page = 0;
        std::uint32_t begins_to_own = 0;
        std::uint32_t level = 0;
        for (; page < pages && owners[page] != no_node; ++page) {
            const PrefixNode& node = shared.nodes[owners[page]];
            const std::uint32_t owner = ~node.not_first;
            const std::uint32_t begin = owner == compared ? page * page_positions : 0;
            if (node.items < 2 || (owner != item && !sharing.begins_as(item, owner, begin, page))) {
                break;
            }
            if (owner != item) {
                begins_to_own = page + 1;
                level += owner != compared ? 1 : 0;
            }
            compared = owner;
            __syncwarp();  // all lanes have read the place
            owners[page] = owner;
        }
        page -= page % sharing.unit(item);
        if (threadIdx.x % warp_lanes == 0) {
            shared.paths[item] = {.pages = page,
                                  .owned = page > begins_to_own ? page - begins_to_own : 0,
                                  .level = level,
                                  .first = no_prefix,
                                  .shared = 0};
        }
    }
}

/// Gives pages to the owners in order, as far as there is room, and lists these by level. Whose pages an owner's path
/// begins with comes before it, so that these have pages, too.
__global__ void __launch_bounds__(choose_threads) choose_prefixes(Memory memory, Rule rule, const Check* checks) {
    __shared__ std::uint32_t scans[choose_threads / warp_lanes];
    __shared__ std::uint32_t listed[prefix_levels];  // owners of a level; then where the next one's place is
    __shared__ std::uint32_t used;
    const SharedPrefixes& shared = memory.shared;
    const Sharing sharing(memory, rule, checks);
    for (std::uint32_t i = threadIdx.x; i < prefix_levels; i += choose_threads) {
        listed[i] = 0;
    }
    if (threadIdx.x == 0) {
        used = 0;
    }
    __syncthreads();
    BlockScan<choose_threads> scan(scans);
    std::uint32_t pages = 0;
    for (std::uint32_t first = 0; first < sharing.items(); first += choose_threads) {
        const std::uint32_t item = first + threadIdx.x;
        const PrefixPath path = item < sharing.items() ? shared.paths[item] : PrefixPath{};
        const std::uint32_t wanted = path.level < prefix_levels ? path.owned : 0;
        const std::uint32_t begin = pages + scan.up_to(wanted) - wanted;
        pages += scan.all();
        std::uint32_t given = begin < shared.room ? min(wanted, shared.room - begin) : 0;
        given -= given == 0 ? 0 : given % sharing.unit(item);
        if (given != 0) {
            shared.paths[item] = {.pages = path.pages - path.owned + given,
                                  .owned = given,
                                  .level = path.level,
                                  .first = begin,
                                  .shared = 0};
            atomicAdd(&listed[path.level], 1U);
            atomicMax(&used, begin + given);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        std::uint32_t before = 0;
        for (std::uint32_t& of_level : listed) {
            const std::uint32_t count = of_level;
            of_level = before;
            before += count;
        }
        Batch& batch = *memory.batch;
        batch.prefixes = before;
        batch.next_prefix = 0;
        batch.shared_pages = used;
        batch.prompt_rows = 0;
        batch.saved_rows = 0;
    }
    __syncthreads();
    for (std::uint32_t item = threadIdx.x; item < sharing.items(); item += choose_threads) {
        if (shared.paths[item].first != no_prefix) {
            shared.texts[atomicAdd(&listed[shared.paths[item].level], 1U)] = item;
        }
    }
}

/// One thread per item: how much of its path has pages.
__global__ void __launch_bounds__(find_threads) share_paths(Memory memory, Rule rule, const Check* checks) {
    const SharedPrefixes& shared = memory.shared;
    const Sharing sharing(memory, rule, checks);
    std::uint64_t rows = 0;
    std::uint64_t saved = 0;  // may be less than 0 for a while
    for (std::uint32_t item = blockIdx.x * find_threads + threadIdx.x; item < sharing.items();
         item += gridDim.x * find_threads) {
        PrefixPath& path = shared.paths[item];
        const std::uint32_t* const owners = shared.owners + std::size_t{item} * shared.most_pages;
        std::uint32_t pages = 0;
        while (pages < path.pages && shared.paths[owners[pages]].first != no_prefix &&
               pages < shared.paths[owners[pages]].pages) {
            ++pages;
        }
        path.shared = pages;
        rows += sharing.is_computed(item) ? sharing.count(item) : 0;
        saved += std::uint64_t{pages} * page_positions;
        saved -= path.first == no_prefix ? 0 : std::uint64_t{path.owned} * page_positions;
    }
    rows = sum_of_warp(rows);
    saved = sum_of_warp(saved);
    if (threadIdx.x % warp_lanes == 0) {
        add_count(memory.batch->prompt_rows, rows);
        add_count(memory.batch->saved_rows, saved);
    }
}

/// Takes the prefixes' pages, if they are worth it. One block.
__global__ void __launch_bounds__(choose_threads) take_shared_pages(Memory memory) {
    Batch& batch = *memory.batch;
    const bool is_worth_it = batch.saved_rows * least_saved_share >= batch.prompt_rows;
    const std::uint32_t pages = is_worth_it ? batch.shared_pages : 0;
    for (std::uint32_t i = threadIdx.x; i < pages; i += choose_threads) {
        memory.shared.pages[i] = memory.free_pages[batch.free_pages - 1 - i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        batch.prefixes = pages == 0 ? 0 : batch.prefixes;
        batch.shared_pages = pages;
        batch.free_pages -= pages;
    }
}

}  // namespace

void enqueue_find_prefixes(const Memory& memory, const Rule& rule, const Check* checks, cudaStream_t stream) {
    const SharedPrefixes& shared = memory.shared;
    if (shared.most_pages == 0) {
        return;
    }
    const LaunchShape by_warps{.blocks = blocks_for(shared.items, find_warps, most_find_blocks),
                               .threads = find_threads};
    const LaunchShape by_threads{.blocks = blocks_for(shared.items, find_threads, most_find_blocks),
                                 .threads = find_threads};
    check_cuda(cudaMemsetAsync(shared.nodes, 0, shared.most_nodes * sizeof(PrefixNode), stream), "cudaMemsetAsync");
    launch(&add_prefixes, "add prefixes", by_warps, stream, memory, rule, checks);
    launch(&find_paths, "find paths", by_warps, stream, memory, rule, checks);
    launch(&choose_prefixes, "choose prefixes", {.blocks = 1, .threads = choose_threads}, stream, memory, rule, checks);
    launch(&share_paths, "share paths", by_threads, stream, memory, rule, checks);
    launch(&take_shared_pages, "take shared pages", {.blocks = 1, .threads = choose_threads}, stream, memory);
}

}  // namespace sluice::decoder

#include "kernels/cuda/decoder/shared_prefixes.hpp"

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/prefix_pages.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/launch.hpp"

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

__device__ std::uint32_t sharing_items(const Memory& memory) {
    return min(memory.batch->items, memory.shared.items);
}

/// Pages of a prompt that others may share, in whole units: the last token is its own.
__device__ std::uint32_t pages_before_end(const Memory& memory, const PromptStart& start) {
    const std::uint32_t pages = min((start.tokens - 1) / page_positions, memory.shared.most_pages);
    return pages - pages % prefix_unit(memory, start);
}

/// Adds an item to the node with a hash. The node's place.
__device__ std::uint32_t add_to_node(const SharedPrefixes& shared, std::uint64_t hash, std::uint32_t item) {
    const std::uint64_t key = hash == 0 ? 1 : hash;
    auto at = static_cast<std::uint32_t>(__umul64hi(key, shared.most_nodes));
    while (true) {
        const std::uint64_t other = atomicCAS(&shared.nodes[at].hash, 0ULL, key);
        if (other == 0 || other == key) {
            break;
        }
        at = at + 1 == shared.most_nodes ? 0 : at + 1;
    }
    atomicMax(&shared.nodes[at].not_first, ~item);
    atomicAdd(&shared.nodes[at].items, 1U);
    return at;
}

/// One warp per item: adds its prefixes, a node for each unit of pages. Until find_paths `owners` are nodes' places.
__global__ void __launch_bounds__(find_threads) add_prefixes(Memory memory, Rule rule) {
    const Batch& batch = *memory.batch;
    const SharedPrefixes& shared = memory.shared;
    const std::uint32_t items = sharing_items(memory);
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * find_warps;
    for (std::uint32_t item = (blockIdx.x * find_threads + threadIdx.x) / warp_lanes; item < items; item += step) {
        const PromptStart& start = start_of(batch, rule, item);
        const std::uint32_t* const tokens = tokens_of(batch, rule, item);
        const std::uint32_t pages = pages_before_end(memory, start);
        const std::uint32_t unit = prefix_unit(memory, start);
        // What attends by other kernels has other bits.
        std::uint64_t hash = start.tokens >= memory.long_prompt ? 1 : 0;
        for (std::uint32_t first = 0; first < pages; first += warp_lanes) {
            const std::uint32_t page = first + lane;
            const std::uint64_t of_page = page < pages ? hash_of_page(tokens + page * page_positions) : 0;
            std::uint64_t own = 0;
            for (std::uint32_t i = 0; i < min(warp_lanes, pages - first); ++i) {
                hash = mix(hash + __shfl_sync(every_lane, of_page, static_cast<int>(i)));
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

/// Whether an item has the same tokens as another from `begin` to `end`. Called by a warp.
__device__ bool has_tokens_of(const Batch& batch, const Rule& rule, std::uint32_t item, std::uint32_t other,
                              std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t* const own = tokens_of(batch, rule, item);
    const std::uint32_t* const others = tokens_of(batch, rule, other);
    bool same = true;
    for (std::uint32_t i = begin + threadIdx.x % warp_lanes; i < end; i += warp_lanes) {
        same = same && own[i] == others[i];
    }
    return __all_sync(every_lane, same) != 0;
}

/// One warp per item: who owns the pages that it shares. Owners' tokens are compared: hashes may be equal by design.
__global__ void __launch_bounds__(find_threads) find_paths(Memory memory, Rule rule) {
    const Batch& batch = *memory.batch;
    const SharedPrefixes& shared = memory.shared;
    const std::uint32_t items = sharing_items(memory);
    const std::uint32_t step = gridDim.x * find_warps;
    for (std::uint32_t item = (blockIdx.x * find_threads + threadIdx.x) / warp_lanes; item < items; item += step) {
        const PromptStart& start = start_of(batch, rule, item);
        const std::uint32_t pages = pages_before_end(memory, start);
        std::uint32_t* const owners = shared.owners + std::size_t{item} * shared.most_pages;
        std::uint32_t compared = item;  // whose tokens are equal up to here
        std::uint32_t page = 0;
        std::uint32_t begins_to_own = 0;
        for (; page < pages; ++page) {
            const PrefixNode& node = shared.nodes[owners[page]];
            const std::uint32_t owner = ~node.not_first;
            if (node.items < 2) {
                break;
            }
            const std::uint32_t begin = owner == compared ? page * page_positions : 0;
            if (owner != item && !has_tokens_of(batch, rule, item, owner, begin, (page + 1) * page_positions)) {
                break;
            }
            compared = owner;
            begins_to_own = owner != item ? page + 1 : begins_to_own;
            __syncwarp();  // all lanes have read the place
            owners[page] = owner;
        }
        page -= page % prefix_unit(memory, start);
        if (threadIdx.x % warp_lanes == 0) {
            shared.paths[item] = {.pages = page,
                                  .owned = page > begins_to_own ? page - begins_to_own : 0,
                                  .first = no_prefix,
                                  .shared = 0};
        }
    }
}

/// Gives pages to the owners in order, as far as there is room, and lists these. Whose pages an owner's path begins
/// with comes before it, so that these have pages, too.
__global__ void __launch_bounds__(choose_threads) choose_prefixes(Memory memory, Rule rule) {
    __shared__ std::uint32_t scans[choose_threads / warp_lanes];
    __shared__ unsigned long long rows;   // of all prompts
    __shared__ unsigned long long saved;  // of those
    __shared__ std::uint32_t used;
    const SharedPrefixes& shared = memory.shared;
    Batch& batch = *memory.batch;
    const std::uint32_t items = sharing_items(memory);
    if (threadIdx.x == 0) {
        rows = 0;
        saved = 0;
        used = 0;
    }
    BlockScan<choose_threads> scan(scans);
    std::uint32_t pages = 0;
    std::uint32_t texts = 0;
    unsigned long long own_rows = 0;
    unsigned long long own_saved = 0;
    for (std::uint32_t first = 0; first < items; first += choose_threads) {
        const std::uint32_t item = first + threadIdx.x;
        PrefixPath path{};
        std::uint32_t unit = 1;
        if (item < items) {
            const PromptStart& start = start_of(batch, rule, item);
            path = shared.paths[item];
            unit = prefix_unit(memory, start);
            own_rows += start.tokens;
        }
        const std::uint32_t begin = pages + scan.up_to(path.owned) - path.owned;
        pages += scan.all();
        std::uint32_t given = begin < shared.room ? min(path.owned, shared.room - begin) : 0;
        given -= given % unit;
        const std::uint32_t texts_up_to = texts + scan.up_to(given != 0 ? 1 : 0);
        texts += scan.all();
        if (given != 0) {
            shared.paths[item] = {
                .pages = path.pages - path.owned + given, .owned = given, .first = begin, .shared = 0};
            shared.texts[texts_up_to - 1] = item;
            atomicMax(&used, begin + given);
        } else {
            own_saved += path.pages * page_positions;
        }
    }
    atomicAdd(&rows, own_rows);
    atomicAdd(&saved, own_saved);
    __syncthreads();
    const bool is_worth_it = saved * least_saved_share >= rows;
    for (std::uint32_t i = threadIdx.x; i < used && is_worth_it; i += choose_threads) {
        shared.pages[i] = memory.free_pages[batch.free_pages - 1 - i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        batch.prefixes = is_worth_it ? texts : 0;
        batch.next_prefix = 0;
        batch.shared_pages = is_worth_it ? used : 0;
        batch.free_pages -= batch.shared_pages;
    }
}

/// One thread per item: how much of its path has pages.
__global__ void __launch_bounds__(find_threads) share_paths(Memory memory, Rule rule) {
    const Batch& batch = *memory.batch;
    const SharedPrefixes& shared = memory.shared;
    const std::uint32_t items = sharing_items(memory);
    for (std::uint32_t item = blockIdx.x * find_threads + threadIdx.x; item < items && batch.shared_pages != 0;
         item += gridDim.x * find_threads) {
        PrefixPath& path = shared.paths[item];
        const std::uint32_t* const owners = shared.owners + std::size_t{item} * shared.most_pages;
        std::uint32_t pages = 0;
        while (pages < path.pages && shared.paths[owners[pages]].first != no_prefix &&
               pages < shared.paths[owners[pages]].pages) {
            ++pages;
        }
        path.shared = pages;
    }
}

}  // namespace

void enqueue_find_prefixes(const Memory& memory, const Rule& rule, cudaStream_t stream) {
    const SharedPrefixes& shared = memory.shared;
    if (shared.most_pages == 0) {
        return;
    }
    const std::uint32_t blocks = blocks_for(shared.items, find_warps, most_find_blocks);
    check_cuda(cudaMemsetAsync(shared.nodes, 0, shared.most_nodes * sizeof(PrefixNode), stream), "cudaMemsetAsync");
    launch(&add_prefixes, "add prefixes", {.blocks = blocks, .threads = find_threads}, stream, memory, rule);
    launch(&find_paths, "find paths", {.blocks = blocks, .threads = find_threads}, stream, memory, rule);
    launch(&choose_prefixes, "choose prefixes", {.blocks = 1, .threads = choose_threads}, stream, memory, rule);
    launch(&share_paths, "share paths", {.blocks = blocks, .threads = find_threads}, stream, memory, rule);
}

}  // namespace sluice::decoder

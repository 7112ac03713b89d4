#include "kernels/cuda/counts.cuh"
#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/decoder/plan/chunk_io.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/plan/prefix_pages.cuh"
#include "kernels/cuda/decoder/plan/slots.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t list_threads = 128;
constexpr std::uint32_t most_list_blocks = 1024;

/// Words in shared memory.
struct PlanCounts {
    SlotCounts of;
    std::uint32_t longest_text;
    std::uint32_t scans[plan_threads / warp_lanes];
    std::uint32_t page_prompts[plan_threads / warp_lanes];  // a bit for each item of a round
};

extern __shared__ std::uint32_t plan_memory[];

/// What new texts have taken so far.
struct Taken {
    std::uint32_t texts = 0;
    std::uint32_t rows = 0;
    std::uint32_t pages = 0;
    std::uint32_t tiles = 0;
    std::uint32_t long_texts = 0;
};

/// The item that comes `number` places after the next one.
__device__ Candidate next_item(const Memory& memory, const Rule& rule, std::uint32_t number) {
    const Batch& batch = *memory.batch;
    const std::uint64_t item = std::uint64_t{batch.next} + number;
    Candidate text;
    if (item < batch.items) {
        text.item = static_cast<std::uint32_t>(item);
        text.start = prompt_of(batch.in, rule, text.item).start;
        if (text.start.tokens == 0 || text.start.tokens > rule.max_prompt) {
            __trap();  // not an item of this decoder
        }
        text.shared = shared_pages_of(memory, text.item);
        text.rows = text.start.tokens - text.shared * page_positions;
    }
    return text;
}

/// Puts an item's text into a free slot, with `pages` pages of its own that end at `pages_end` among the free ones.
__device__ void begin_text(const Memory& memory, const Candidate& text, std::uint32_t slot, std::uint32_t pages,
                           std::uint32_t pages_end) {
    memory.texts[slot] = {.number = text.start.number,
                          .item = text.item,
                          .prompt = text.start.tokens,
                          .pages = text.shared + pages,
                          .shared = text.shared};
    take_pages(memory, slot, text.shared, pages, pages_end);
    add_count(memory.batch->counts.shared, std::uint64_t{text.shared} * page_positions);
}

/// Whether the thread's prompt, which begins in row `first_row`, is among those of a page each that fill a tile of the
/// product that may attend to them: other tiles would only take longer. `is_page`: whether it is of a page. All threads
/// call; their prompts follow each other.
__device__ __forceinline__ bool fills_tile(PlanCounts& counts, bool is_page, std::uint32_t first_row) {
    constexpr std::uint32_t tile_prompts = attended_rows / page_positions;
    constexpr std::uint32_t whole_tile = (1U << tile_prompts) - 1;
    const std::uint32_t votes = __ballot_sync(every_lane, is_page);
    if (threadIdx.x % warp_lanes == 0) {
        counts.page_prompts[threadIdx.x / warp_lanes] = votes;
    }
    __syncthreads();
    const std::uint32_t place = first_row % attended_rows / page_positions;
    if (!is_page || first_row % page_positions != 0 || threadIdx.x < place) {
        return false;
    }
    const std::uint32_t first = threadIdx.x - place;  // of the tile's, if all before are pages
    const std::uint32_t word = first / warp_lanes;
    const std::uint32_t next = word + 1 < plan_threads / warp_lanes ? counts.page_prompts[word + 1] : 0;
    return (__funnelshift_r(counts.page_prompts[word], next, first % warp_lanes) & whole_tile) == whole_tile;
}

/// Takes items in order, as many as fit, one per thread in each round; or the chunk's prefixes.
__device__ Taken take_items(const Memory& memory, const Rule& rule, PlanCounts& counts) {
    const bool of_prefixes = begins_with_prefixes(*memory.batch);
    BlockScan<plan_threads> scan(counts.scans);
    Taken taken;
    while (true) {
        const std::uint32_t number = taken.texts + threadIdx.x;
        const Candidate text = of_prefixes ? next_prefix(memory, rule, number) : next_item(memory, rule, number);
        const bool exists = text.rows != 0;
        const std::uint32_t pages = exists && !of_prefixes ? pages_of_text(rule, text.start.tokens) - text.shared : 0;
        const std::uint32_t rows_up_to = taken.rows + scan.up_to(text.rows);
        const std::uint32_t pages_up_to = taken.pages + scan.up_to(pages);
        const bool fits = exists && rows_up_to <= memory.most_rows && pages_up_to <= counts.of.free_pages &&
                          number < counts.of.free_slots;
        const bool is_long = text.start.tokens >= memory.long_prompt;
        const std::uint32_t first_row = rows_up_to - text.rows;
        bool in_product = false;
        if (memory.prompt_pages != nullptr) {
            in_product =
                fills_tile(counts, fits && !is_long && text.shared == 0 && text.rows == page_positions, first_row);
        }
        const bool has_tiles = fits && !is_long && !in_product;
        const std::uint32_t tiles = has_tiles ? divide_up(text.rows, tile_queries) : 0;
        std::uint32_t first_tile = taken.tiles + scan.up_to(tiles) - tiles;
        taken.tiles += scan.all();
        if (memory.long_prompt <= rule.max_prompt) {
            const std::uint32_t up_to = taken.long_texts + scan.up_to(fits && is_long ? 1 : 0);
            first_tile = is_long ? up_to - 1 : first_tile;
            taken.long_texts += scan.all();
            if (fits && is_long) {
                atomicMax(&counts.longest_text, text.rows);
            }
        }
        if (fits) {
            const std::uint32_t slot = memory.free_slots[number];
            if (of_prefixes) {
                memory.texts[slot] = {.item = text.item, .check = check_of_prefix};
                add_count(memory.batch->counts.shared, 0 - std::uint64_t{text.rows});  // computed after all
            } else {
                begin_text(memory, text, slot, pages, counts.of.free_pages - pages_up_to + pages);
            }
            memory.entries[number] = {.slot = slot,
                                      .first_row = first_row,
                                      .rows = text.rows,
                                      .first_position = text.shared * page_positions,
                                      .first_tile = in_product ? no_tile : first_tile,
                                      .is_long = is_long ? 1U : 0U};
        }
        scan.up_to(fits ? text.rows : 0);
        taken.rows += scan.all();
        scan.up_to(fits ? pages : 0);
        taken.pages += scan.all();
        scan.up_to(fits ? 1 : 0);
        taken.texts += scan.all();
        if (scan.all() != plan_threads) {
            return taken;
        }
    }
}

__global__ void __launch_bounds__(plan_threads) plan_pass(Memory memory, Rule rule) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    Batch& batch = *memory.batch;
    auto& counts = *reinterpret_cast<PlanCounts*>(plan_memory);
    if (threadIdx.x == 0) {
        counts.of = {.continuing = 0, .free_slots = 0, .free_pages = batch.free_pages};
        counts.longest_text = 0;
    }
    __syncthreads();
    list_slots(memory, counts.of);
    const bool of_prefixes = begins_with_prefixes(batch);
    const Taken taken = take_items(memory, rule, counts);
    const std::uint32_t continued = min(counts.of.continuing, memory.most_rows - taken.rows);
    for (std::uint32_t i = threadIdx.x; i < continued; i += plan_threads) {
        const std::uint32_t slot = memory.continuing[(batch.turn + i) % counts.of.continuing];
        memory.entries[taken.texts + i] = last_token_of(memory, slot, taken.rows + i);
    }
    const std::uint32_t rows = taken.rows + continued;
    std::uint32_t free_pages = counts.of.free_pages - taken.pages;
    if (rows == 0) {
        free_pages = free_shared_pages(memory, free_pages);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        (of_prefixes ? batch.next_prefix : batch.next) += taken.texts;
        batch.beginning = taken.texts;
        batch.continued = continued;
        batch.entries = taken.texts + continued;
        if (batch.entries == 0 && batch.next < batch.items) {
            __trap();  // a text that fits no pass
        }
        batch.beginning_rows = taken.rows;
        batch.rows = rows;
        batch.tiles = taken.tiles;
        batch.long_texts = taken.long_texts;
        batch.longest_text = counts.longest_text;
        batch.free_pages = free_pages;
        batch.shared_pages = rows == 0 ? 0 : batch.shared_pages;
        batch.turn = counts.of.continuing == 0 ? 0 : (batch.turn + continued) % counts.of.continuing;
        batch.set_more();
    }
}

/// Lists each entry's rows, and the pages that it shares, one warp per entry; clears the results of new texts.
__global__ void __launch_bounds__(list_threads) list_rows(Memory memory, Rule rule) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t warps = gridDim.x * (list_threads / warp_lanes);
    for (std::uint32_t e = (blockIdx.x * list_threads + threadIdx.x) / warp_lanes; e < batch.entries; e += warps) {
        const Entry entry = memory.entries[e];
        const Text& text = memory.texts[entry.slot];
        if (e >= batch.beginning) {
            if (lane == 0) {
                memory.rows[entry.first_row] = {entry.slot, entry.first_position, text.last};
            }
            list_prompt_pages(memory, entry, no_page);
            continue;
        }
        const bool is_prefix = text.check == check_of_prefix;
        list_shared_pages(memory, text.item, entry.slot,
                          is_prefix ? (entry.first_position + entry.rows) / page_positions : text.shared);
        const std::uint32_t* const tokens = prompt_of(batch.in, rule, text.item).tokens + entry.first_position;
        for (std::uint32_t i = lane; i < entry.rows; i += warp_lanes) {
            memory.rows[entry.first_row + i] = {entry.slot, entry.first_position + i, tokens[i]};
        }
        const bool in_product = entry.first_tile == no_tile;
        list_prompt_pages(memory, entry, in_product ? page_of(memory, entry.slot, 0) : no_page);
        Tile tile{.slot = entry.slot,
                  .first_row = entry.first_row,
                  .rows = entry.rows,
                  .query = 0,
                  .past = entry.first_position};
        if (entry.is_long != 0) {
            if (lane == 0) {
                memory.long_texts[entry.first_tile] = tile;
            }
        } else if (!in_product) {
            for (std::uint32_t i = lane; i < divide_up(entry.rows, tile_queries); i += warp_lanes) {
                tile.query = i * tile_queries;
                memory.tiles[entry.first_tile + i] = tile;
            }
        }
        if (is_prefix) {
            continue;
        }
        auto* const result =
            reinterpret_cast<std::uint32_t*>(batch.out + std::size_t{text.item} * rule.io.output_bytes);
        for (std::uint32_t i = lane; i < rule.io.output_bytes / 4; i += warp_lanes) {
            result[i] = 0;
        }
    }
}

__global__ void begin_chunk(Memory memory, Chunk chunk) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    Batch& batch = *memory.batch;
    batch.in = chunk.in;
    batch.out = chunk.out;
    batch.doubts = chunk.doubts;
    batch.choices = chunk.choices;
    batch.items = chunk.active == nullptr ? chunk.items : min(chunk.items, *chunk.active);
    batch.next = 0;
    batch.turn = 0;
    batch.prefixes = 0;
    batch.next_prefix = 0;
}

__global__ void expect_done(Memory memory) {
    ptx::wait_for_previous_kernel();
    if (memory.batch->more != 0) {
        __trap();
    }
}

void enqueue_begin(const Memory& memory, const Rule& rule, const Chunk& chunk, cudaStream_t stream) {
    launch(&begin_chunk, "begin", {.blocks = 1, .threads = 1}, stream, memory, chunk);
    enqueue_find_prefixes(memory, rule, nullptr, stream);
    enqueue_plan(memory, rule, stream);
}

void enqueue_plan(const Memory& memory, const Rule& rule, cudaStream_t stream) {
    launch(&plan_pass, "plan",
           {.blocks = 1, .threads = plan_threads, .shared_bytes = sizeof(PlanCounts), .chained = true}, stream, memory,
           rule);
    const std::uint32_t blocks = (memory.slots * warp_lanes + list_threads - 1) / list_threads;
    launch(&list_rows, "list rows",
           {.blocks = blocks < most_list_blocks ? blocks : most_list_blocks, .threads = list_threads, .chained = true},
           stream, memory, rule);
}

void enqueue_expect_done(const Memory& memory, cudaStream_t stream) {
    launch(&expect_done, "expect done", {.blocks = 1, .threads = 1}, stream, memory);
}

}  // namespace sluice::decoder

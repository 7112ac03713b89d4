#include "kernels/cuda/decoder/checks.hpp"

#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/prompt_pages.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {
namespace {

constexpr std::uint32_t plan_threads = 1024;
constexpr std::uint32_t list_threads = 128;
constexpr std::uint32_t list_warps = list_threads / warp_lanes;
constexpr std::uint32_t most_list_blocks = 16 * hopper_multiprocessors;

/// Number of choices behind a text's tokens and its end.
__device__ std::uint32_t choices_of(const ContinuationStart& start) {
    return start.tokens + (start.has_end != 0 ? 1 : 0);
}

/// Called by a warp for 32 choices from `first` on: a bit for each whose doubt is below the bounds.
__device__ std::uint32_t doubtful_choices(const ChoiceDoubt* choices, std::uint32_t first, std::uint32_t count,
                                          const TextDoubt& bounds) {
    const std::uint32_t i = first + threadIdx.x % warp_lanes;
    const TextDoubt doubt = i < count ? choices[i].doubt : TextDoubt{};
    return __ballot_sync(every_lane, !(doubt.distance >= bounds.distance && doubt.gap >= bounds.gap));
}

/// One warp per item.
__global__ void __launch_bounds__(list_threads) find_checks(Memory memory, Rule rule, Drafts drafts) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * list_warps;
    const std::uint32_t items = drafts.active == nullptr ? drafts.count : min(drafts.count, *drafts.active);
    const TextDoubt bounds = *drafts.bounds;
    for (std::uint32_t item = (blockIdx.x * list_threads + threadIdx.x) / warp_lanes; item < items; item += step) {
        const auto& prompt =
            *reinterpret_cast<const PromptStart*>(drafts.items + std::size_t{item} * rule.io.input_bytes);
        const auto& start =
            *reinterpret_cast<const ContinuationStart*>(drafts.results + std::size_t{item} * rule.io.output_bytes);
        const std::uint32_t count = choices_of(start);
        Check check;
        for (std::uint32_t first = 0; first < count; first += warp_lanes) {
            const std::uint32_t doubtful =
                doubtful_choices(drafts.choices + std::size_t{item} * rule.max_new, first, count, bounds);
            if (doubtful != 0) {
                check.choices += __popc(doubtful);
                check.rows = prompt.tokens + first + (warp_lanes - 1 - __clz(doubtful));
            }
        }
        if (lane == 0) {
            const bool is_hopeless = check.choices > most_checked || start.nonfinite != 0;
            if (is_hopeless) {
                check = {};
            }
            if (check.choices != 0) {
                atomicAdd(reinterpret_cast<unsigned long long*>(&memory.batch->checked), 1ULL);
            }
            drafts.checks[item] = check;
            drafts.doubts[item] = is_hopeless ? TextDoubt{refuted, refuted} : TextDoubt{};
        }
    }
}

__global__ void begin_checks(Memory memory, Drafts drafts) {
    Batch& batch = *memory.batch;
    batch.in = drafts.items;
    batch.out = const_cast<std::byte*>(drafts.results);  // read only, while there are checks
    batch.checks = drafts.checks;
    batch.doubts = drafts.doubts;
    batch.choices = nullptr;
    batch.items = drafts.active == nullptr ? drafts.count : min(drafts.count, *drafts.active);
    batch.next = 0;
}

struct Taken {
    std::uint32_t items = 0;
    std::uint32_t choices = 0;
    std::uint32_t rows = 0;
    std::uint32_t pages = 0;
    std::uint32_t tiles = 0;
};

/// Takes items in order, as many as fit, one per thread in each round. A text's first entry initially has all of its
/// rows; list_check_rows makes the others.
__global__ void __launch_bounds__(plan_threads) plan_checks(Memory memory) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    __shared__ std::uint32_t sums[plan_threads / warp_lanes];
    Batch& batch = *memory.batch;
    BlockScan<plan_threads> scan(sums);
    Taken taken;
    while (true) {
        const std::uint64_t item = std::uint64_t{batch.next} + taken.items + threadIdx.x;
        const bool exists = item < batch.items;
        const Check check = exists ? batch.checks[item] : Check{};
        const std::uint32_t pages = divide_up(check.rows, page_positions);
        const std::uint32_t choices_up_to = taken.choices + scan.up_to(check.choices);
        const std::uint32_t rows_up_to = taken.rows + scan.up_to(check.rows);
        const std::uint32_t pages_up_to = taken.pages + scan.up_to(pages);
        const bool fits = exists && choices_up_to <= memory.slots && rows_up_to <= memory.most_rows &&
                          pages_up_to <= batch.free_pages;
        const std::uint32_t tiles = fits ? divide_up(check.rows, tile_queries) : 0;
        const std::uint32_t tiles_up_to = taken.tiles + scan.up_to(tiles);
        taken.tiles += scan.all();
        if (fits && check.choices != 0) {
            const std::uint32_t first = choices_up_to - check.choices;
            memory.texts[first] = {.item = static_cast<std::uint32_t>(item)};
            memory.entries[first] = {.slot = first,
                                     .first_row = rows_up_to - check.rows,
                                     .rows = check.rows,
                                     .first_position = 0,
                                     .first_tile = tiles_up_to - tiles};
            for (std::uint32_t i = 0; i < check.choices; ++i) {
                memory.continuing[first + i] = first;  // the first entry of each entry's text
            }
            for (std::uint32_t i = 0; i < pages; ++i) {
                memory.page_table[std::size_t{first} * memory.text_pages + i] =
                    memory.free_pages[pages_up_to - pages + i];
            }
        }
        scan.up_to(fits ? check.choices : 0);
        taken.choices += scan.all();
        scan.up_to(fits ? check.rows : 0);
        taken.rows += scan.all();
        scan.up_to(fits ? pages : 0);
        taken.pages += scan.all();
        scan.up_to(fits ? 1 : 0);
        taken.items += scan.all();
        if (scan.all() != plan_threads) {
            break;
        }
    }
    if (threadIdx.x == 0) {
        batch.next += taken.items;
        if (taken.choices == 0 && batch.next < batch.items) {
            __trap();  // a text that fits no pass
        }
        batch.beginning = taken.choices;
        batch.continued = 0;
        batch.entries = taken.choices;
        batch.beginning_rows = taken.rows;
        batch.rows = taken.rows;
        batch.tiles = taken.tiles;
        batch.long_texts = 0;
        batch.longest_text = 0;
        batch.more = taken.choices != 0 ? 1 : 0;
    }
}

/// One warp per text: its rows, and a slot and an entry for each doubtful choice, all with the pages of the first.
__global__ void __launch_bounds__(list_threads) list_check_rows(Memory memory, Rule rule, Drafts drafts) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * list_warps;
    for (std::uint32_t e = (blockIdx.x * list_threads + threadIdx.x) / warp_lanes; e < batch.entries; e += step) {
        if (memory.continuing[e] != e) {
            continue;
        }
        const Entry whole = memory.entries[e];
        const std::uint32_t item = memory.texts[e].item;
        const std::byte* const in = batch.in + std::size_t{item} * rule.io.input_bytes;
        const std::byte* const out = batch.out + std::size_t{item} * rule.io.output_bytes;
        const auto& start = *reinterpret_cast<const PromptStart*>(in);
        const auto* const prompt = reinterpret_cast<const std::uint32_t*>(in + sizeof(PromptStart));
        const auto* const draft = reinterpret_cast<const std::uint32_t*>(out + sizeof(ContinuationStart));
        for (std::uint32_t i = lane; i < whole.rows; i += warp_lanes) {
            memory.rows[whole.first_row + i] = {e, i, i < start.tokens ? prompt[i] : draft[i - start.tokens]};
        }
        for (std::uint32_t i = lane; i < divide_up(whole.rows, tile_queries); i += warp_lanes) {
            memory.tiles[whole.first_tile + i] = {e, whole.first_row, whole.rows, i * tile_queries};
        }
        list_prompt_pages(memory, whole, no_page);
        __syncwarp();  // all lanes have read the text and the entry
        const std::uint32_t count = choices_of(*reinterpret_cast<const ContinuationStart*>(out));
        const std::uint32_t pages = divide_up(whole.rows, page_positions);
        const std::uint32_t* const table = memory.page_table + std::size_t{e} * memory.text_pages;
        std::uint32_t slot = e;
        for (std::uint32_t first = 0; first < count; first += warp_lanes) {
            std::uint32_t doubtful =
                doubtful_choices(drafts.choices + std::size_t{item} * rule.max_new, first, count, *drafts.bounds);
            for (; doubtful != 0; doubtful &= doubtful - 1, ++slot) {
                const std::uint32_t made = first + static_cast<std::uint32_t>(__ffs(static_cast<int>(doubtful))) - 1;
                if (lane == 0) {
                    memory.texts[slot] = {.number = start.number, .item = item, .prompt = start.tokens, .made = made};
                    memory.entries[slot] = {.slot = slot,
                                            .first_row = whole.first_row,
                                            .rows = start.tokens + made,
                                            .first_position = 0,
                                            .first_tile = whole.first_tile};
                }
                for (std::uint32_t i = lane; i < pages && slot != e; i += warp_lanes) {
                    memory.page_table[std::size_t{slot} * memory.text_pages + i] = table[i];
                }
            }
        }
    }
}

LaunchShape a_warp_each(std::uint32_t count) {
    const std::uint32_t blocks = (count + list_warps - 1) / list_warps;
    return {.blocks = blocks < most_list_blocks ? blocks : most_list_blocks, .threads = list_threads};
}

}  // namespace

void enqueue_begin_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream) {
    launch(&find_checks, "find checks", a_warp_each(drafts.count), stream, memory, rule, drafts);
    launch(&begin_checks, "begin checks", {.blocks = 1, .threads = 1}, stream, memory, drafts);
    enqueue_plan_checks(memory, rule, drafts, stream);
}

void enqueue_plan_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream) {
    launch(&plan_checks, "plan checks", {.blocks = 1, .threads = plan_threads, .chained = true}, stream, memory);
    LaunchShape of_texts = a_warp_each(memory.slots);
    of_texts.chained = true;
    launch(&list_check_rows, "list rows of checks", of_texts, stream, memory, rule, drafts);
}

}  // namespace sluice::decoder

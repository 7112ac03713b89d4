#include "kernels/cuda/decoder/plan/checks.hpp"

#include "kernels/cuda/decoder/plan/chunk_io.cuh"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/plan/prefix_pages.cuh"
#include "kernels/cuda/decoder/plan/slots.cuh"
#include "kernels/cuda/decoder/plan/texts.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {
namespace {

constexpr std::uint32_t check_threads = 128;
constexpr std::uint32_t check_warps = check_threads / warp_lanes;
constexpr std::uint32_t most_check_blocks = 16 * hopper_multiprocessors;

/// Doubt of a draft that its checks can neither confirm nor correct: less than any bound.
constexpr TextDoubt refuted{.distance = -1, .gap = -1};

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
__global__ void __launch_bounds__(check_threads) find_checks(Rule rule, Drafts drafts) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * check_warps;
    const std::uint32_t items = drafts.active == nullptr ? drafts.count : min(drafts.count, *drafts.active);
    const TextDoubt bounds = *drafts.bounds;
    for (std::uint32_t item = (blockIdx.x * check_threads + threadIdx.x) / warp_lanes; item < items; item += step) {
        const PromptStart& prompt = prompt_of(drafts.items, rule, item).start;
        const ContinuationStart& start = continuation_of(drafts.results, rule, item).start;
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
            drafts.checks[item] = check;
            drafts.doubts[item] = is_hopeless ? refuted : TextDoubt{};
        }
    }
}

__global__ void begin_checks(Memory memory, Drafts drafts) {
    Batch& batch = *memory.batch;
    batch.in = drafts.items;
    batch.out = drafts.results;
    batch.doubts = drafts.doubts;
    batch.choices = nullptr;
    batch.items = drafts.active == nullptr ? drafts.count : min(drafts.count, *drafts.active);
    batch.next = 0;
    batch.prefixes = 0;
    batch.next_prefix = 0;
}

struct TakenDrafts {
    std::uint32_t items = 0;
    std::uint32_t entries = 0;  // one a checked choice
    std::uint32_t rows = 0;
    std::uint32_t pages = 0;
    std::uint32_t tiles = 0;
};

/// What a thread takes: of an item that is not checked no choices.
struct CheckedText {
    Candidate text;
    bool exists = false;
    std::uint32_t choices = 0;
    std::uint32_t pages = 0;  ///< Of its own: those of the longest text that it may become, so that it always goes on.
};

__device__ CheckedText next_checked(const Memory& memory, const Rule& rule, const Drafts& drafts,
                                    std::uint32_t number) {
    const Batch& batch = *memory.batch;
    const std::uint64_t item = std::uint64_t{batch.next} + number;
    CheckedText next;
    next.exists = item < batch.items;
    const Check check = next.exists ? drafts.checks[item] : Check{};
    next.text.item = static_cast<std::uint32_t>(item);
    if (check.choices != 0) {
        next.choices = check.choices;
        next.text.shared = shared_pages_of(memory, next.text.item);
        next.text.rows = check.rows - next.text.shared * page_positions;
        next.pages = pages_of_text(rule, prompt_of(batch.in, rule, next.text.item).start.tokens) - next.text.shared;
    }
    return next;
}

/// An owner of prefixes, which has one entry.
__device__ CheckedText next_checked_prefix(const Memory& memory, const Rule& rule, std::uint32_t number) {
    const Candidate path = next_prefix(memory, rule, number);
    return {.text = path, .exists = path.rows != 0, .choices = path.rows != 0 ? 1U : 0U};
}

/// Takes items in order, as many as fit into `most_rows`, one per thread in each round; or the chunk's prefixes. Each
/// checked choice gets a slot and an entry, of which the text's first has its pages. list_check_rows completes them.
__device__ TakenDrafts take_items(const Memory& memory, const Rule& rule, const Drafts& drafts,
                                  const SlotCounts& counts, std::uint32_t most_rows, std::uint32_t* scans) {
    const bool of_prefixes = begins_with_prefixes(*memory.batch);
    BlockScan<plan_threads> scan(scans);
    TakenDrafts taken;
    while (true) {
        const std::uint32_t number = taken.items + threadIdx.x;
        const CheckedText next =
            of_prefixes ? next_checked_prefix(memory, rule, number) : next_checked(memory, rule, drafts, number);
        const Candidate& text = next.text;
        const std::uint32_t entries_up_to = taken.entries + scan.up_to(next.choices);
        const std::uint32_t rows_up_to = taken.rows + scan.up_to(text.rows);
        const std::uint32_t pages_up_to = taken.pages + scan.up_to(next.pages);
        const bool fits = next.exists && entries_up_to <= counts.free_slots && rows_up_to <= most_rows &&
                          pages_up_to <= counts.free_pages;
        const std::uint32_t tiles = fits ? divide_up(text.rows, tile_queries) : 0;
        const std::uint32_t tiles_up_to = taken.tiles + scan.up_to(tiles);
        taken.tiles += scan.all();
        for (std::uint32_t i = 0; fits && i < next.choices; ++i) {
            const std::uint32_t entry = entries_up_to - next.choices + i;
            const std::uint32_t slot = memory.free_slots[entry];
            memory.texts[slot] = {.item = text.item,
                                  .pages = i == 0 && !of_prefixes ? text.shared + next.pages : 0,
                                  .shared = text.shared,
                                  .check = of_prefixes ? check_of_prefix : i + 1};
            memory.entries[entry] = {.slot = slot,
                                     .first_row = rows_up_to - text.rows,
                                     .rows = text.rows,
                                     .first_position = text.shared * page_positions,
                                     .first_tile = tiles_up_to - tiles};
            if (i == 0) {
                take_pages(memory, slot, text.shared, next.pages, counts.free_pages - pages_up_to + next.pages);
            }
        }
        scan.up_to(fits ? next.choices : 0);
        taken.entries += scan.all();
        scan.up_to(fits ? text.rows : 0);
        taken.rows += scan.all();
        scan.up_to(fits ? next.pages : 0);
        taken.pages += scan.all();
        scan.up_to(fits ? 1 : 0);
        taken.items += scan.all();
        if (scan.all() != plan_threads) {
            return taken;
        }
    }
}

/// All texts that continue have a row: these are few.
__global__ void __launch_bounds__(plan_threads) plan_checks(Memory memory, Rule rule, Drafts drafts) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    __shared__ std::uint32_t scans[plan_threads / warp_lanes];
    __shared__ SlotCounts counts;
    Batch& batch = *memory.batch;
    if (threadIdx.x == 0) {
        counts = {.continuing = 0, .free_slots = 0, .free_pages = batch.free_pages};
    }
    __syncthreads();
    list_slots(memory, counts);
    const bool of_prefixes = begins_with_prefixes(batch);
    const TakenDrafts taken = take_items(memory, rule, drafts, counts, memory.most_rows - counts.continuing, scans);
    for (std::uint32_t i = threadIdx.x; i < counts.continuing; i += plan_threads) {
        memory.entries[taken.entries + i] = last_token_of(memory, memory.continuing[i], taken.rows + i);
    }
    const std::uint32_t rows = taken.rows + counts.continuing;
    std::uint32_t free_pages = counts.free_pages - taken.pages;
    if (rows == 0) {
        free_pages = free_shared_pages(memory, free_pages);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        (of_prefixes ? batch.next_prefix : batch.next) += taken.items;
        batch.beginning = taken.entries;
        batch.continued = counts.continuing;
        batch.entries = taken.entries + counts.continuing;
        if (batch.entries == 0 && batch.next < batch.items) {
            __trap();  // a text that fits no pass
        }
        batch.beginning_rows = taken.rows;
        batch.rows = rows;
        batch.tiles = taken.tiles;
        batch.long_texts = 0;
        batch.longest_text = 0;
        batch.free_pages = free_pages;
        batch.shared_pages = rows == 0 ? 0 : batch.shared_pages;
        batch.set_more();
    }
}

/// Index of the `wanted`-th doubtful choice of a draft, from 0 on. Called by a warp.
__device__ std::uint32_t doubtful_choice(const ChoiceDoubt* choices, std::uint32_t wanted, std::uint32_t count,
                                         const TextDoubt& bounds) {
    for (std::uint32_t first = 0; first < count; first += warp_lanes) {
        std::uint32_t doubtful = doubtful_choices(choices, first, count, bounds);
        const auto found = static_cast<std::uint32_t>(__popc(doubtful));
        if (wanted >= found) {
            wanted -= found;
            continue;
        }
        for (; wanted > 0; --wanted) {
            doubtful &= doubtful - 1;
        }
        return first + static_cast<std::uint32_t>(__ffs(static_cast<int>(doubtful))) - 1;
    }
    __trap();  // another one than find_checks has found
    return 0;
}

/// Lists an entry's rows, which begin a draft's text or are of a prefix, and their tiles. Called by a warp.
/// `draft`: what follows the prompt.
__device__ void list_first_rows(const Memory& memory, const Entry& entry, const Prompt& prompt,
                                const std::uint32_t* draft) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t tokens = prompt.start.tokens;
    for (std::uint32_t i = lane; i < entry.rows; i += warp_lanes) {
        const std::uint32_t position = entry.first_position + i;
        memory.rows[entry.first_row + i] = {entry.slot, position,
                                            position < tokens ? prompt.tokens[position] : draft[position - tokens]};
    }
    for (std::uint32_t i = lane; i < divide_up(entry.rows, tile_queries); i += warp_lanes) {
        memory.tiles[entry.first_tile + i] = {entry.slot, entry.first_row, entry.rows, i * tile_queries,
                                              entry.first_position};
    }
    list_prompt_pages(memory, entry, no_page);
}

/// One warp per entry: a checked choice's text and entry, which has the pages of the text's first; with the first the
/// rows up to the last.
__global__ void __launch_bounds__(check_threads) list_check_rows(Memory memory, Rule rule, Drafts drafts) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const Batch& batch = *memory.batch;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * check_warps;
    for (std::uint32_t e = (blockIdx.x * check_threads + threadIdx.x) / warp_lanes; e < batch.entries; e += step) {
        Entry entry = memory.entries[e];
        Text text = memory.texts[entry.slot];
        if (text.check == 0) {
            if (lane == 0) {
                memory.rows[entry.first_row] = {entry.slot, entry.first_position, text.last};
            }
            list_prompt_pages(memory, entry, no_page);
            continue;
        }
        const Prompt prompt = prompt_of(batch.in, rule, text.item);
        const Continuation draft = continuation_of(batch.out, rule, text.item);
        if (text.check == check_of_prefix) {
            list_shared_pages(memory, text.item, entry.slot, (entry.first_position + entry.rows) / page_positions);
            list_first_rows(memory, entry, prompt, draft.tokens);
            continue;
        }
        text.number = prompt.start.number;
        text.prompt = prompt.start.tokens;
        text.made = doubtful_choice(drafts.choices + std::size_t{text.item} * rule.max_new, text.check - 1,
                                    choices_of(draft.start), *drafts.bounds);
        list_shared_pages(memory, text.item, entry.slot, text.shared);
        if (text.check == 1) {
            list_first_rows(memory, entry, prompt, draft.tokens);
        }
        entry.rows = text.prompt + text.made - entry.first_position;
        const std::uint32_t first_slot = memory.entries[e + 1 - text.check].slot;
        const std::uint32_t* const table = memory.page_table + std::size_t{first_slot} * memory.text_pages;
        const std::uint32_t pages = divide_up(text.prompt + text.made, page_positions);
        for (std::uint32_t i = text.shared + lane; i < pages && text.check != 1; i += warp_lanes) {
            memory.page_table[std::size_t{entry.slot} * memory.text_pages + i] = table[i];
        }
        __syncwarp();  // all lanes have read the text and the entry
        if (lane == 0) {
            memory.texts[entry.slot] = text;
            memory.entries[e].rows = entry.rows;
        }
    }
}

/// Whether a check has made the draft's choice.
__device__ bool agrees(const Rule& rule, const Text& check, const Continuation& draft) {
    const bool is_drafted =
        check.made < draft.start.tokens ? check.last == draft.tokens[check.made] : rule.end.contains(check.last);
    return is_drafted && check.nonfinite == 0;
}

/// Turns a draft into the text up to its token `check.made`, another one than the draft's, which goes on in the first
/// check's slot. Called by a warp. `before`: the least doubt of the choices before.
__device__ void correct(const Memory& memory, const Rule& rule, std::uint32_t first_slot, const Text& check,
                        const TextDoubt& before) {
    Batch& batch = *memory.batch;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const Continuation result = continuation_of(batch.out, rule, check.item);
    if (lane == 0) {
        const PromptStart& item = prompt_of(batch.in, rule, check.item).start;
        add_counts(batch.counts, TextCounts{} - counts_of(item, result.start));
        add_count(batch.checked, 1);
        add_count(batch.corrected, 1);
    }
    for (std::uint32_t i = check.made + lane; i < rule.max_new; i += warp_lanes) {
        result.tokens[i] = 0;
        if (rule.log_probabilities) {
            result.log_probabilities[i] = 0;
        }
    }
    __syncwarp();
    if (lane == 0) {
        Text& text = memory.texts[first_slot];
        const std::uint32_t pages = text.pages;
        text = check;
        text.pages = pages;
        text.check = 0;
        text.doubt = before;
        append(memory, rule, text,
               {.token = check.last,
                .log_probability = check.log_probability,
                .nonfinite = false,
                .doubt = {.doubt = check.doubt}});
    }
}

/// One warp per text that was checked: confirms its draft, or corrects it where a choice was another one first.
__global__ void __launch_bounds__(check_threads) settle_checks(Memory memory, Rule rule, Drafts drafts) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    Batch& batch = *memory.batch;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t step = gridDim.x * check_warps;
    for (std::uint32_t e = (blockIdx.x * check_threads + threadIdx.x) / warp_lanes; e < batch.beginning; e += step) {
        const std::uint32_t slot = memory.entries[e].slot;
        if (memory.texts[slot].check != 1) {
            continue;
        }
        const std::uint32_t item = memory.texts[slot].item;
        const std::uint32_t choices = drafts.checks[item].choices;
        const bool has_choice = lane < choices;
        const Text check = has_choice ? memory.texts[memory.entries[e + lane].slot] : Text{};
        const bool agreed = !has_choice || agrees(rule, check, continuation_of(batch.out, rule, item));
        const std::uint32_t others = __ballot_sync(every_lane, !agreed);
        const std::uint32_t first = others == 0 ? warp_lanes : __ffs(static_cast<int>(others)) - 1;
        TextDoubt doubt = has_choice && lane < first ? check.doubt : TextDoubt{};
#pragma unroll
        for (std::uint32_t apart = warp_lanes / 2; apart > 0; apart /= 2) {
            doubt = least(doubt, {__shfl_xor_sync(every_lane, doubt.distance, apart),
                                  __shfl_xor_sync(every_lane, doubt.gap, apart)});
        }
        if (others != 0) {
            const Text other = memory.texts[memory.entries[e + first].slot];
            __syncwarp();  // all lanes have read it, and the first one's
            if (other.nonfinite == 0) {
                correct(memory, rule, slot, other, doubt);
                continue;
            }
            doubt = refuted;
        }
        if (lane == 0) {
            add_count(batch.checked, others == 0 ? 1 : 0);
            drafts.doubts[item] = doubt;
            memory.texts[slot].complete = 1;
        }
    }
}

LaunchShape a_warp_each(std::uint32_t count) {
    const std::uint32_t blocks = (count + check_warps - 1) / check_warps;
    return {.blocks = blocks < most_check_blocks ? blocks : most_check_blocks, .threads = check_threads};
}

LaunchShape a_warp_each_entry(const Memory& memory) {
    LaunchShape shape = a_warp_each(memory.slots);
    shape.chained = true;
    return shape;
}

void enqueue_plan_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream) {
    launch(&plan_checks, "plan checks", {.blocks = 1, .threads = plan_threads, .chained = true}, stream, memory, rule,
           drafts);
    launch(&list_check_rows, "list rows of checks", a_warp_each_entry(memory), stream, memory, rule, drafts);
}

}  // namespace

void enqueue_begin_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream) {
    launch(&find_checks, "find checks", a_warp_each(drafts.count), stream, rule, drafts);
    launch(&begin_checks, "begin checks", {.blocks = 1, .threads = 1}, stream, memory, drafts);
    enqueue_find_prefixes(memory, rule, drafts.checks, stream);
    enqueue_plan_checks(memory, rule, drafts, stream);
}

void enqueue_settle_checks(const Memory& memory, const Rule& rule, const Drafts& drafts, cudaStream_t stream) {
    launch(&settle_checks, "settle checks", a_warp_each_entry(memory), stream, memory, rule, drafts);
    enqueue_plan_checks(memory, rule, drafts, stream);
}

}  // namespace sluice::decoder

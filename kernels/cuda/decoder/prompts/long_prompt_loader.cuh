#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/plan/pages.cuh"
#include "kernels/cuda/decoder/prompts/long_prompt_memory.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"

namespace sluice::decoder {

/// Takes tiles of long prompts, each in one head, as long as there are any that no other block has taken, and loads
/// their queries, keys and values, from the cache those before the prompt's first row. What lies beyond a prompt's end
/// belongs to other texts. By one thread.
class LongPromptLoader {
    using Shared = LongPromptMemory;

public:
    /// `rows`: of 64, as `cache` of 16, values of a head.
    __device__ __forceinline__ LongPromptLoader(const Memory& memory, const Attention& attention, const Cache& cache,
                                                std::uint32_t layer, const CUtensorMap& rows,
                                                const CUtensorMap& cache_rows, const Shared& shared)
        : memory_(memory),
          attention_(attention),
          rows_(&rows),
          cache_rows_(&cache_rows),
          shared_(shared),
          first_page_(layer * cache.pages),
          texts_(memory.batch->long_texts),
          levels_(divide_up(memory.batch->longest_text, Shared::tile_queries)) {}

    __device__ __forceinline__ void run() {
        const std::uint32_t all = texts_ * levels_ * attention_.heads;
        std::uint32_t taken = take(all);
        std::uint32_t tiles = 0;
        while (taken < all) {
            const std::uint32_t next = take(all);
            const LongTile item = item_of(taken);
            if (item.steps != 0) {
                pass_on(item, tiles++);
                for (std::uint32_t step = 0; step < item.steps; ++step) {
                    load_step(item, step);
                }
            }
            taken = next;
        }
        pass_on({}, tiles);
    }

private:
    static constexpr std::uint32_t side_by_side = 4;  // texts: of GPT-2, their keys and values fit the L2 cache

    /// Each block takes one more than there are. With the last of these the count is 0 again, for the next kernel.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t take(std::uint32_t all) const {
        return atomicInc(&memory_.batch->long_taken, all + gridDim.x - 1);
    }

    /// Tile number `n` of all; without steps, if its text is too short for it. Of some texts, those with the most rows
    /// before them come first: blocks end at about the same time.
    [[nodiscard]] __device__ __forceinline__ LongTile item_of(std::uint32_t n) const {
        const std::uint32_t of_texts = side_by_side * levels_ * attention_.heads;
        const std::uint32_t last = max(texts_ / side_by_side, 1U) - 1;  // has the rest, too
        const std::uint32_t some = min(n / of_texts, last);
        const std::uint32_t first_text = some * side_by_side;
        const std::uint32_t of_level = (some == last ? texts_ - first_text : side_by_side) * attention_.heads;
        const std::uint32_t place = n - some * of_texts;
        const std::uint32_t level = levels_ - 1 - place / of_level;
        LongTile item{};
        item.tile = memory_.long_texts[first_text + place % of_level / attention_.heads];
        item.tile.query = level * Shared::tile_queries;
        item.head = n % attention_.heads;
        item.prefix = prefix_of(memory_, attention_, item.tile.slot);
        if (item.tile.query < item.tile.rows) {
            const std::uint32_t queries_end = min(item.tile.query + Shared::tile_queries, item.tile.rows);
            item.steps = divide_up(max(item.tile.past + queries_end, item.prefix), step_keys);
        }
        return item;
    }

    /// And loads its queries, if it has any.
    __device__ __forceinline__ void pass_on(const LongTile& item, std::uint32_t n) const {
        shared_.wait_for_room_for_tile(n);
        shared_.set_item(n, item);
        const std::uint32_t barrier = shared_.tile_full(n);
        if (item.steps == 0) {
            ptx::arrive(barrier);
            return;
        }
        const std::uint32_t queries = min(item.tile.rows - item.tile.query, Shared::tile_queries);
        const std::uint32_t groups = divide_up(queries, warpgroup_queries);
        ptx::arrive_expecting(barrier, groups * Shared::matrix_bytes);
        for (std::uint32_t group = 0; group < groups; ++group) {
            load(shared_.tile_at(n) + group * Shared::matrix_bytes, barrier, item.head * Shared::head_size,
                 item.tile.first_row + item.tile.query + group * warpgroup_queries);
        }
    }

    __device__ __forceinline__ void load_step(const LongTile& item, std::uint32_t step) {
        shared_.wait_for_room_for_step(step_);
        const std::uint32_t barrier = shared_.step_full(step_);
        const std::uint32_t key_at = attention_.query_width() + attention_.key_head(item.head) * Shared::head_size;
        const std::uint32_t to = shared_.step_at(step_);
        ptx::arrive_expecting(barrier, Shared::step_bytes);
        if (step * step_keys < item.tile.past) {
            load_pages(item, step, to, barrier);
        } else {
            const std::uint32_t row = item.tile.first_row + step * step_keys - item.tile.past;
            load(to, barrier, key_at, row);
            load(to + Shared::matrix_bytes, barrier, key_at + attention_.key_width(), row);
        }
        ++step_;
    }

    /// A step from the cache.
    __device__ __forceinline__ void load_pages(const LongTile& item, std::uint32_t step, std::uint32_t to,
                                               std::uint32_t barrier) const {
        constexpr std::uint32_t page_bytes = page_positions * Shared::row_bytes;
        const std::uint32_t key_at = attention_.key_head(item.head) * Shared::head_size;
        for (std::uint32_t i = 0; i < step_keys / page_positions; ++i) {
            const std::uint32_t page = page_of(memory_, item.tile.slot, step * step_keys + i * page_positions);
            const auto row = static_cast<int>((first_page_ + page) * page_positions);
            ptx::load_2d(to + i * page_bytes, cache_rows_, barrier, static_cast<int>(key_at), row);
            ptx::load_2d(to + Shared::matrix_bytes + i * page_bytes, cache_rows_, barrier,
                         static_cast<int>(key_at + attention_.key_width()), row);
        }
    }

    /// 64 rows of a head.
    __device__ __forceinline__ void load(std::uint32_t to, std::uint32_t barrier, std::uint32_t column,
                                         std::uint32_t row) const {
        ptx::load_2d(to, rows_, barrier, static_cast<int>(column), static_cast<int>(row));
    }

    const Memory& memory_;
    const Attention& attention_;
    const CUtensorMap* rows_;
    const CUtensorMap* cache_rows_;
    Shared shared_;
    std::uint32_t first_page_;  // of the layer
    std::uint32_t texts_;
    std::uint32_t levels_;    // tiles of the longest text
    std::uint32_t step_ = 0;  // number of the next step of all tiles
};

}  // namespace sluice::decoder

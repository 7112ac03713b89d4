#pragma once

#include <cstdint>

#include "kernels/cuda/decoder/plan/batch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"

/// How a block that attends to long prompts uses shared memory: its last warpgroup loads, the others compute.
namespace sluice::decoder {

constexpr std::uint32_t warpgroup_threads = 128;
constexpr std::uint32_t warpgroup_queries = 64;
constexpr std::uint32_t step_keys = 64;

/// A tile in one head, as the loading thread passes it on.
struct LongTile {
    Tile tile;
    std::uint32_t head;
    std::uint32_t prefix;  ///< See prefix_of().
    std::uint32_t steps;   ///< Of keys; 0: there are no more tiles.
};

/// A ring of tiles with their queries, and one of steps of 64 keys and values, each with barriers for what is full and
/// what is empty. A matrix has 64 rows, of a head.
class LongPromptMemory {
public:
    static constexpr std::uint32_t head_size = 64;
    static constexpr std::uint32_t row_bytes = 128;  // of a head: the copy engine swizzles so many
    static constexpr std::uint32_t matrix_bytes = 64 * row_bytes;
    static constexpr std::uint32_t groups = 3;  // computing warpgroups
    static constexpr std::uint32_t tile_queries = groups * warpgroup_queries;
    static constexpr std::uint32_t step_bytes = 2 * matrix_bytes;
    static constexpr std::uint32_t tile_bytes = groups * matrix_bytes;
    static constexpr std::uint32_t steps = 6;
    static constexpr std::uint32_t tiles = 2;
    static constexpr std::uint32_t tiles_at = steps * step_bytes;
    static constexpr std::uint32_t items_at = tiles_at + tiles * tile_bytes;
    static constexpr std::uint32_t barriers_at = items_at + tiles * sizeof(LongTile);
    static constexpr std::uint32_t bytes = barriers_at + 2 * (steps + tiles) * sizeof(std::uint64_t);

    __device__ __forceinline__ explicit LongPromptMemory(std::uint32_t shared) : shared_(shared) {}

    /// Initialises the barriers: one thread.
    __device__ __forceinline__ void prepare() const {
        for (std::uint32_t i = 0; i < steps + tiles; ++i) {
            ptx::barrier_init(barrier(2 * i), 1);
            ptx::barrier_init(barrier(2 * i + 1), groups * warpgroup_threads / warp_lanes);
        }
        ptx::fence_barrier_init();
    }

    // Of step or tile number `n` of all that the block takes.

    [[nodiscard]] __device__ __forceinline__ std::uint32_t step_at(std::uint32_t n) const {
        return shared_ + n % steps * step_bytes;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t tile_at(std::uint32_t n) const {
        return shared_ + tiles_at + n % tiles * tile_bytes;
    }
    __device__ __forceinline__ void set_item(std::uint32_t n, const LongTile& item) const {
        ptx::store_shared_16(item_at(n), {item.tile.slot, item.tile.first_row, item.tile.rows, item.tile.query});
        ptx::store_shared_16(item_at(n) + 16, {item.tile.past, item.head, item.prefix, item.steps});
    }
    [[nodiscard]] __device__ __forceinline__ LongTile item(std::uint32_t n) const {
        const uint4 at = ptx::load_shared_16(item_at(n));
        const uint4 of = ptx::load_shared_16(item_at(n) + 16);
        return {.tile = {at.x, at.y, at.z, at.w, of.x}, .head = of.y, .prefix = of.z, .steps = of.w};
    }

    [[nodiscard]] __device__ __forceinline__ std::uint32_t step_full(std::uint32_t n) const {
        return barrier(n % steps * 2);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t tile_full(std::uint32_t n) const {
        return barrier((steps + n % tiles) * 2);
    }

    // The loading thread waits until nothing is read any more; a computing one until all is there. Each warp releases
    // what it has waited for.

    __device__ __forceinline__ void wait_for_room_for_step(std::uint32_t n) const {
        if (n >= steps) {
            ptx::wait(step_full(n) + sizeof(std::uint64_t), (n / steps - 1) % 2);
        }
    }
    __device__ __forceinline__ void wait_for_room_for_tile(std::uint32_t n) const {
        if (n >= tiles) {
            ptx::wait(tile_full(n) + sizeof(std::uint64_t), (n / tiles - 1) % 2);
        }
    }
    __device__ __forceinline__ void wait_for_step(std::uint32_t n) const { ptx::wait(step_full(n), n / steps % 2); }
    __device__ __forceinline__ void wait_for_tile(std::uint32_t n) const { ptx::wait(tile_full(n), n / tiles % 2); }
    __device__ __forceinline__ void release_step(std::uint32_t n) const { release(step_full(n)); }
    __device__ __forceinline__ void release_tile(std::uint32_t n) const { release(tile_full(n)); }

private:
    [[nodiscard]] __device__ __forceinline__ std::uint32_t item_at(std::uint32_t n) const {
        return shared_ + items_at + n % tiles * sizeof(LongTile);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t barrier(std::uint32_t i) const {
        return shared_ + barriers_at + i * sizeof(std::uint64_t);
    }
    __device__ __forceinline__ static void release(std::uint32_t full) {
        __syncwarp();  // all lanes have read
        if (threadIdx.x % warp_lanes == 0) {
            ptx::arrive(full + sizeof(std::uint64_t));
        }
    }

    std::uint32_t shared_;
};

}  // namespace sluice::decoder

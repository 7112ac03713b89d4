#include "kernels/cuda/generator/batch.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::generator {

constexpr std::uint32_t plan_threads = 1024;
constexpr std::uint32_t move_threads = 256;
constexpr std::uint32_t most_move_blocks = 512;

/// Pairs active rows beyond the new number of them with free rows below it, in any order: a row's results do not depend
/// on its position.
__global__ void __launch_bounds__(plan_threads) plan_moves(Memory memory) {
    extern __shared__ std::uint32_t plan_counts[];  // of rows that move, and of free rows
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    Batch& batch = *memory.batch;
    const std::uint32_t before = batch.active_rows;
    const std::uint32_t after = before - batch.ended;
    if (threadIdx.x < 2) {
        plan_counts[threadIdx.x] = 0;
    }
    __syncthreads();
    if (after != before) {
        for (std::uint32_t row = threadIdx.x; row < before; row += plan_threads) {
            const bool lives = memory.rows[row].item != no_item;
            if (lives && row >= after) {
                memory.moves[atomicAdd(&plan_counts[0], 1U)].from = row;
            } else if (!lives && row < after) {
                memory.moves[atomicAdd(&plan_counts[1], 1U)].to = row;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        batch.moves = plan_counts[0];
        batch.active_rows = after;
        batch.ended = 0;
        batch.more = after != 0 ? 1 : 0;
    }
}

__device__ void copy_row(const StateRows& from, std::uint32_t source, const StateRows& to, std::uint32_t row) {
    const std::uint32_t pieces = to.row_bytes / 16;
    for (std::uint32_t i = threadIdx.x; i < to.matrices * pieces; i += blockDim.x) {
        const std::uint32_t matrix = i / pieces;
        const std::uint32_t at = i % pieces * 16;
        *reinterpret_cast<uint4*>(to.at(matrix, row) + at) =
            *reinterpret_cast<const uint4*>(from.at(matrix, source) + at);
    }
}

__global__ void __launch_bounds__(move_threads) move_rows(Memory memory, StateRows states) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t moves = memory.batch->moves;
    for (std::uint32_t i = blockIdx.x; i < moves; i += gridDim.x) {
        const Move move = memory.moves[i];
        copy_row(states, move.from, states, move.to);
        if (threadIdx.x == 0) {
            memory.rows[move.to] = memory.rows[move.from];
            memory.symbols[move.to] = memory.symbols[move.from];
        }
    }
}

__global__ void __launch_bounds__(move_threads)
    extend_prefixes(Memory memory, StateRows parents, StateRows states, std::uint32_t first, std::uint32_t rows) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    for (std::uint32_t row = blockIdx.x; row < rows; row += gridDim.x) {
        copy_row(parents, (first + row) / gru_symbols, states, row);
        if (threadIdx.x == 0) {
            memory.symbols[row] = static_cast<std::uint8_t>((first + row) % gru_symbols);
        }
    }
}

__global__ void set_active_rows(Memory memory, std::uint32_t rows) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    memory.batch->active_rows = rows;
}

__global__ void expect_done(Memory memory) {
    ptx::wait_for_previous_kernel();
    if (memory.batch->more != 0) {
        __trap();
    }
}

void enqueue_compaction(const Memory& memory, const StateRows& states, cudaStream_t stream) {
    launch(&plan_moves, "plan moves",
           {.blocks = 1, .threads = plan_threads, .shared_bytes = 2 * sizeof(std::uint32_t), .chained = true}, stream,
           memory);
    launch(&move_rows, "move rows",
           {.blocks = memory.most_rows < most_move_blocks ? memory.most_rows : most_move_blocks,
            .threads = move_threads,
            .chained = true},
           stream, memory, states);
}

void enqueue_extend_prefixes(const Memory& memory, const StateRows& parents, const StateRows& states,
                             std::uint32_t first, std::uint32_t rows, cudaStream_t stream) {
    launch(&extend_prefixes, "extend prefixes",
           {.blocks = rows < most_move_blocks ? rows : most_move_blocks, .threads = move_threads, .chained = true},
           stream, memory, parents, states, first, rows);
}

void enqueue_active_rows(const Memory& memory, std::uint32_t rows, cudaStream_t stream) {
    launch(&set_active_rows, "active rows", {.blocks = 1, .threads = 1, .chained = true}, stream, memory, rows);
}

void enqueue_expect_done(const Memory& memory, cudaStream_t stream) {
    launch(&expect_done, "expect done", {.blocks = 1, .threads = 1}, stream, memory);
}

}  // namespace sluice::generator

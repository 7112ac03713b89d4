#include "kernels/cuda/generator/draw.cuh"

#include "kernels/cuda/generator/texts.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::generator {

constexpr std::uint32_t no_prefix = 0xFFFFFFFF;

/// A draw from a prefix's distribution.
class TableDraw {
public:
    __device__ TableDraw(const Distribution& distribution, const Sampling& sampling)
        : from_(distribution), sampling_(sampling) {}

    /// The first byte whose sum exceeds `uniform`. Sums never fall.
    [[nodiscard]] __device__ std::uint32_t choose(float uniform) const {
        if (sampling_.temperature == 0) {
            return from_.best;
        }
        // Independent loads, except those of the sixteen that the first ones select.
        constexpr std::uint32_t run = 16;
        std::uint32_t first = 0;
#pragma unroll
        for (std::uint32_t i = run - 1; i < gru_symbols; i += run) {
            first += from_.sums[i] > uniform ? 0 : run;
        }
        if (first < gru_symbols) {
            const float* const sums = from_.sums + first;
            std::uint32_t before = 0;
#pragma unroll
            for (std::uint32_t i = 0; i + 1 < run; ++i) {
                before += sums[i] > uniform ? 0 : 1;
            }
            first += before;
        }
        return first == gru_symbols ? from_.last : first;
    }

    [[nodiscard]] __device__ TextDoubt doubt(float uniform, std::uint32_t byte) const {
        return doubt_of(uniform, sampling_, from_.log_sum, from_.gap, [&] {
            return DrawnAt{
                .sum = from_.sums[byte], .before = byte > 0 ? from_.sums[byte - 1] : 0, .last = byte == from_.last};
        });
    }

    [[nodiscard]] __device__ double log_probability(std::uint32_t byte) const {
        const double above =
            __dadd_rn(static_cast<double>(from_.scores[byte]), -static_cast<double>(from_.scores[from_.best]));
        return __dadd_rn(above, -from_.log_sum);
    }

private:
    const Distribution& from_;
    const Sampling& sampling_;
};

struct Begun {
    Row row{};                         // without an item: none is left
    std::uint32_t prefix = no_prefix;  // the longest with a table; the row takes its states
    std::uint32_t symbol = 0;
};

/// Writes a text's first bytes by the tables of prefixes. Returns false if that completes it.
__device__ bool begin_text(const Memory& memory, const Sampling& sampling, Text& text, Begun& begun) {
    std::uint32_t number = 0;
    for (std::uint32_t bytes = 0; bytes < memory.prefix_tables; ++bytes) {
        const Append appended = text.append(TableDraw(memory.prefixes[bytes].distributions[number], sampling));
        if (appended != Append::continues) {
            text.finish(memory.batch->counts, appended == Append::ended);
            return false;
        }
        begun.prefix = number;
        number = number * gru_symbols + text.last_byte();
    }
    begun.row = text.row();
    begun.symbol = text.last_byte();
    return true;
}

/// Takes items until one needs a step, or none is left.
__device__ Begun take_item(const Memory& memory, const Sampling& sampling) {
    while (true) {
        Row row;
        row.item = atomicAdd(&memory.batch->next, 1U);
        if (row.item >= memory.batch->items) {
            return {};
        }
        Text text(sampling, *memory.batch, row);
        text.clear_result();
        Begun begun;
        if (begin_text(memory, sampling, text, begun)) {
            return begun;
        }
    }
}

/// Copies its prefix's states to each row that has begun a text. Called by all lanes of a warp.
__device__ void copy_states(const Memory& memory, const StateRows& states, std::uint32_t first_row,
                            std::uint32_t prefix) {
    constexpr std::uint32_t pieces = 4;
    const StateRows& table = memory.prefixes[memory.prefix_tables - 1].states;
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    for (std::uint32_t i = 0; i < warp_rows; ++i) {
        const std::uint32_t from = __shfl_sync(every_lane, prefix, i);
        if (from == no_prefix) {
            continue;
        }
        for (std::uint32_t matrix = 0; matrix < states.matrices; ++matrix) {
            const std::byte* const source = table.at(matrix, from);
            std::byte* const to = states.at(matrix, first_row + i);
            for (std::uint32_t first = lane * 16; first < states.row_bytes; first += pieces * warp_lanes * 16) {
                uint4 loaded[pieces];  // all in flight before the first is stored
#pragma unroll
                for (std::uint32_t piece = 0; piece < pieces; ++piece) {
                    const std::uint32_t at = first + piece * warp_lanes * 16;
                    if (at < states.row_bytes) {
                        loaded[piece] = *reinterpret_cast<const uint4*>(source + at);
                    }
                }
#pragma unroll
                for (std::uint32_t piece = 0; piece < pieces; ++piece) {
                    const std::uint32_t at = first + piece * warp_lanes * 16;
                    if (at < states.row_bytes) {
                        *reinterpret_cast<uint4*>(to + at) = loaded[piece];
                    }
                }
            }
        }
    }
}

__device__ void keep(const Memory& memory, std::uint32_t row, const Begun& begun) {
    memory.rows[row] = begun.row;
    memory.symbols[row] = static_cast<std::uint8_t>(begun.symbol);
    if (begun.row.item == no_item) {
        atomicAdd(&memory.batch->ended, 1U);
    }
}

/// Appends a byte to a row's text; returns what the row continues with.
__device__ Begun extend_text(const Memory& memory, const Sampling& sampling, const WarpDraw& draw, std::uint32_t row) {
    Text text(sampling, *memory.batch, memory.rows[row]);
    const Append appended = text.append(draw);
    if (appended == Append::continues) {
        return {.row = text.row(), .symbol = text.last_byte()};
    }
    text.finish(memory.batch->counts, appended == Append::ended);
    return take_item(memory, sampling);
}

__global__ void __launch_bounds__(draw_threads) draw_bytes(Memory memory, Sampling sampling, StateRows states) {
    extern __shared__ float draw_weights[];
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t warp = threadIdx.x / warp_lanes;
    const std::uint32_t first = blockIdx.x * block_rows + warp * warp_rows;
    const std::uint32_t active_rows = memory.batch->active_rows;
    if (first >= active_rows) {
        return;
    }
    WarpDraw draw(sampling, memory.scores + std::size_t{first} * gru_symbols, min(warp_rows, active_rows - first),
                  draw_weights + warp * warp_rows * weights_row);
    draw.look();
    Begun begun;
    if (draw.has_row()) {
        const std::uint32_t row = first + draw.lane();
        begun = extend_text(memory, sampling, draw, row);
        keep(memory, row, begun);
    }
    __syncwarp();
    copy_states(memory, states, first, begun.prefix);
}

__global__ void __launch_bounds__(draw_threads) begin_rows(Memory memory, Sampling sampling, StateRows states) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    const std::uint32_t first = blockIdx.x * block_rows + threadIdx.x / warp_lanes * warp_rows;
    Begun begun;
    if (lane < warp_rows && first + lane < memory.batch->active_rows) {
        begun = take_item(memory, sampling);
        keep(memory, first + lane, begun);
    }
    __syncwarp();
    copy_states(memory, states, first, begun.prefix);
}

__global__ void __launch_bounds__(draw_threads)
    make_distributions(Sampling sampling, const float* scores, std::uint32_t rows, Distribution* out) {
    extern __shared__ float draw_weights[];
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t warp = threadIdx.x / warp_lanes;
    const std::uint32_t first = blockIdx.x * block_rows + warp * warp_rows;
    if (first >= rows) {
        return;
    }
    const float* const from = scores + std::size_t{first} * gru_symbols;
    float* const weights = draw_weights + warp * warp_rows * weights_row;
    const std::uint32_t here = min(warp_rows, rows - first);
    WarpDraw draw(sampling, from, here, weights);
    draw.look();
    if (draw.has_row()) {
        Distribution& to = out[first + draw.lane()];
        to.log_sum = draw.log_sum();
        to.best = draw.best();
        to.last = draw.last();
        to.gap = draw.gap();
        float sum = 0;
        for (std::uint32_t i = 0; i < gru_symbols; ++i) {
            sum = __fadd_rn(sum, draw.own()[i]);
            draw.own()[i] = sum;
        }
    }
    __syncwarp();
    for (std::uint32_t row = 0; row < here; ++row) {
        for (std::uint32_t i = draw.lane(); i < gru_symbols; i += warp_lanes) {
            out[first + row].scores[i] = from[row * gru_symbols + i];
            out[first + row].sums[i] = weights[row * weights_row + i];
        }
    }
}

__global__ void begin_chunk(Memory memory, const std::byte* in, std::byte* out, TextDoubt* doubts, std::uint32_t items,
                            const std::uint32_t* active) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    Batch& batch = *memory.batch;
    batch.in = in;
    batch.out = out;
    batch.doubts = doubts;
    batch.items = active == nullptr ? items : min(items, *active);
    batch.next = 0;
    batch.active_rows = min(batch.items, memory.most_rows);
    batch.ended = 0;
}

std::uint32_t blocks_for(std::uint32_t rows) {
    return (rows + block_rows - 1) / block_rows;
}

void enqueue_begin(const Memory& memory, const Sampling& sampling, const StateRows& states, const std::byte* in,
                   std::byte* out, TextDoubt* doubts, std::uint32_t items, const std::uint32_t* active,
                   cudaStream_t stream) {
    launch(&begin_chunk, "begin", {.blocks = 1, .threads = 1}, stream, memory, in, out, doubts, items, active);
    launch(&begin_rows, "begin rows",
           {.blocks = blocks_for(memory.most_rows), .threads = draw_threads, .chained = true}, stream, memory, sampling,
           states);
}

void enqueue_draw(const Memory& memory, const Sampling& sampling, const StateRows& states, cudaStream_t stream) {
    launch(&draw_bytes, "draw",
           {.blocks = blocks_for(memory.most_rows),
            .threads = draw_threads,
            .shared_bytes = draw_shared_bytes,
            .chained = true},
           stream, memory, sampling, states);
}

void enqueue_distributions(const Sampling& sampling, const float* scores, std::uint32_t rows, Distribution* out,
                           cudaStream_t stream) {
    launch(&make_distributions, "distributions",
           {.blocks = blocks_for(rows), .threads = draw_threads, .shared_bytes = draw_shared_bytes, .chained = true},
           stream, sampling, scores, rows, out);
}

}  // namespace sluice::generator

#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/wgmma.cuh"

/// The kernel behind ConvGemm; see there.
namespace sluice::conv_gemm {

constexpr std::uint32_t row_bytes = 128;    // of k in shared memory: 64 bf16 or 32 tf32
constexpr std::uint32_t product_rows = 64;  // of one wgmma
constexpr std::uint32_t products = 3;       // that a warpgroup has accumulators for, one below the other
constexpr std::uint32_t tile_rows = product_rows * products;
constexpr std::uint32_t warpgroup_columns = 128;
constexpr std::uint32_t consumers = 2;  // warpgroups that multiply
constexpr std::uint32_t tile_columns = warpgroup_columns * consumers;
constexpr std::uint32_t warpgroup_threads = 128;
constexpr std::uint32_t threads = warpgroup_threads * (consumers + 1);

constexpr std::uint32_t input_stages = 3;
constexpr std::uint32_t input_rows = 200;  // room for tile_rows + 8 taps
constexpr std::uint32_t input_bytes = input_rows * row_bytes;
constexpr std::uint32_t weight_stages = 4;
constexpr std::uint32_t weight_bytes = warpgroup_columns * row_bytes;  // each warpgroup has stages of its own
constexpr std::uint32_t staging_rows = 16;                             // of a warp in a product
constexpr std::uint32_t staging_bytes = staging_rows * row_bytes;
constexpr std::uint32_t pattern_bytes = 1024;  // the swizzle's period; stages begin there
static_assert(input_bytes % pattern_bytes == 0 && weight_bytes % pattern_bytes == 0);

constexpr std::uint32_t weights_at = 0;
constexpr std::uint32_t inputs_at = weights_at + consumers * weight_stages * weight_bytes;
constexpr std::uint32_t staging_at = inputs_at + input_stages * input_bytes;
constexpr std::uint32_t bias_at = staging_at + consumers * 4 * staging_bytes;
constexpr std::uint32_t most_outputs = 1024;  // room for their bias
constexpr std::uint32_t barriers_at = bias_at + most_outputs * sizeof(float);
constexpr std::uint32_t barriers = 2 * (consumers * weight_stages + input_stages) + 1;
constexpr std::uint32_t shared_bytes = barriers_at + barriers * 8 + pattern_bytes;

struct Arguments {
    void* out;
    const std::uint8_t* weights;
    std::uint32_t prefetch_bytes;  // of the weights that each block brings into the cache, before the first copies ask
    const float* bias;
    std::uint32_t items;
    std::uint32_t item_rows;  // rows, or groups of three rows with pooling, of an item in the input
    std::uint32_t kept_rows;  // of them in the output
    std::uint32_t outputs;
    std::uint32_t taps;
    std::uint32_t pieces;       // of row_bytes, in a row of the input
    std::uint32_t phase_rows;   // rows of each of the three matrices with pooling
    std::uint32_t copied_rows;  // of the input, for a tile
    std::uint32_t row_tiles;
    std::uint32_t tiles;
    std::uint32_t lead_steps;
    bool chained;
};

/// A position in a ring of stages, and the parity of its round.
template <std::uint32_t stages>
struct Ring {
    std::uint32_t stage = 0;
    std::uint32_t parity = 0;

    __device__ __forceinline__ void next() {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/// Addresses in shared memory.
class Layout {
public:
    __device__ explicit Layout(std::uint32_t base) : base_(base) {}

    __device__ __forceinline__ std::uint32_t weights(std::uint32_t consumer, std::uint32_t stage) const {
        return base_ + weights_at + (consumer * weight_stages + stage) * weight_bytes;
    }
    __device__ __forceinline__ std::uint32_t input(std::uint32_t stage) const {
        return base_ + inputs_at + stage * input_bytes;
    }
    __device__ __forceinline__ std::uint32_t staging(std::uint32_t warp) const {
        return base_ + staging_at + warp * staging_bytes;
    }
    __device__ __forceinline__ std::uint32_t bias(std::uint32_t column) const {
        return base_ + bias_at + column * static_cast<std::uint32_t>(sizeof(float));
    }
    __device__ __forceinline__ std::uint32_t weights_full(std::uint32_t consumer, std::uint32_t stage) const {
        return barrier(consumer * weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t weights_free(std::uint32_t consumer, std::uint32_t stage) const {
        return barrier((consumers + consumer) * weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t input_full(std::uint32_t stage) const {
        return barrier(2 * consumers * weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t input_free(std::uint32_t stage) const {
        return barrier(2 * consumers * weight_stages + input_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t lead() const { return barrier(barriers - 1); }

private:
    __device__ __forceinline__ std::uint32_t barrier(std::uint32_t number) const {
        return base_ + barriers_at + number * 8;
    }

    std::uint32_t base_;
};

/// Which tiles a block computes.
struct Tiles {
    std::uint32_t tile;
    std::uint32_t end;
    std::uint32_t step;
    std::uint32_t row_tiles;

    __device__ explicit Tiles(const Arguments& arguments)
        : tile(blockIdx.x), end(arguments.tiles), step(gridDim.x), row_tiles(arguments.row_tiles) {}
    __device__ __forceinline__ bool any() const { return tile < end; }
    __device__ __forceinline__ void next() { tile += step; }
    __device__ __forceinline__ std::uint32_t row_tile() const { return tile % row_tiles; }
    __device__ __forceinline__ std::uint32_t column() const { return tile / row_tiles * tile_columns; }
};

/// Copies the rows of all tiles, one piece of their channels after the other.
template <bool pooled>
__device__ __forceinline__ void produce_input(const Arguments& arguments, const Layout& layout,
                                              const CUtensorMap* in_map, int elements_a_row) {
    const std::uint64_t policy = ptx::no_preference();
    Ring<input_stages> input;
    for (Tiles tiles(arguments); tiles.any(); tiles.next()) {
        const int row = static_cast<int>(tiles.row_tile() * (pooled ? product_rows : tile_rows));
        for (std::uint32_t piece = 0; piece < arguments.pieces; ++piece, input.next()) {
            const int channel = static_cast<int>(piece) * elements_a_row;
            ptx::wait(layout.input_free(input.stage), input.parity ^ 1);
            const std::uint32_t full = layout.input_full(input.stage);
            ptx::arrive_expecting(full, arguments.copied_rows * row_bytes);
            if constexpr (pooled) {
                ptx::load_3d(layout.input(input.stage), in_map, full, channel, row, 0, policy);
            } else {
                ptx::load_2d(layout.input(input.stage), in_map, full, channel, row, policy);
            }
        }
    }
}

/// Copies one warpgroup's weights of all steps: for each piece of the channels, one tap after the other. Out of step,
/// one warpgroup multiplies while the other stores, so the second's begin when the first is done with lead_steps steps.
__device__ __forceinline__ void produce_weights(const Arguments& arguments, const Layout& layout,
                                                const CUtensorMap* weight_map, int elements_a_row,
                                                std::uint32_t consumer) {
    const int channels = static_cast<int>(arguments.pieces) * elements_a_row;
    const std::uint64_t policy = ptx::keep_in_cache();  // or the activations of a large chunk drive them out
    // A stage is copied to again when its step is over, that of the first round never.
    std::uint32_t copies_to_lead = arguments.lead_steps == 0 ? 1 : weight_stages + arguments.lead_steps;
    if (consumer > 0) {
        ptx::wait(layout.lead(), 0);
    }
    Ring<weight_stages> weights;
    for (Tiles tiles(arguments); tiles.any(); tiles.next()) {
        const int column = static_cast<int>(tiles.column() + consumer * warpgroup_columns);
        for (int channel = 0; channel < channels; channel += elements_a_row) {
            for (std::uint32_t tap = 0; tap < arguments.taps; ++tap, weights.next()) {
                const int k = static_cast<int>(tap) * channels + channel;
                ptx::wait(layout.weights_free(consumer, weights.stage), weights.parity ^ 1);
                if (consumer == 0 && copies_to_lead > 0 && --copies_to_lead == 0) {
                    ptx::arrive(layout.lead());
                }
                const std::uint32_t full = layout.weights_full(consumer, weights.stage);
                ptx::arrive_expecting(full, weight_bytes);
                ptx::load_2d(layout.weights(consumer, weights.stage), weight_map, full, k, column, policy);
            }
        }
    }
    if (consumer == 0 && copies_to_lead > 0) {
        ptx::arrive(layout.lead());
    }
}

constexpr std::uint32_t nowhere = ~0U;

/// The row of the output that row `row` of a tile goes to, or nowhere.
template <bool pooled>
__device__ __forceinline__ std::uint32_t output_row(const Arguments& arguments, std::uint32_t row_tile,
                                                    std::uint32_t row) {
    const std::uint32_t number = row_tile * (pooled ? product_rows : tile_rows) + row;
    const std::uint32_t item = number / arguments.item_rows;
    const std::uint32_t at = number - item * arguments.item_rows;
    return item < arguments.items && at < arguments.kept_rows ? item * arguments.kept_rows + at : nowhere;
}

/// The output's rows for a warp's 16 rows of each product, kept by the warp's lanes: computed before the products,
/// which hide the time that it takes.
template <bool pooled>
struct OutputRows {
    std::uint32_t first;   // lane l: row l % 16 of product l / 16
    std::uint32_t second;  // row l % 16 of product 2

    __device__ OutputRows(const Arguments& arguments, std::uint32_t row_tile, std::uint32_t warp) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t row = warp * staging_rows + lane % staging_rows;
        first = output_row<pooled>(arguments, row_tile, row + lane / staging_rows * product_rows);
        second = pooled ? nowhere : output_row<pooled>(arguments, row_tile, row + 2 * product_rows);
    }
    /// Of row `row` of `product`; all lanes of the warp ask at once.
    __device__ __forceinline__ std::uint32_t at(std::uint32_t product, std::uint32_t row) const {
        return product < 2 ? __shfl_sync(~0U, first, static_cast<int>(product * staging_rows + row))
                           : __shfl_sync(~0U, second, static_cast<int>(row));
    }
};

template <bool relu>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t packed;
    if constexpr (relu) {
        asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    }
    return packed;
}

/// One product's rows of this warp, 64 columns at a time through shared memory, so that whole lines of 128 bytes are
/// written.
template <bool relu, bool pooled>
__device__ __forceinline__ void store_bf16(const Arguments& arguments, const float (&sum)[64], std::uint32_t product,
                                           const OutputRows<pooled>& rows, std::uint32_t column,
                                           std::uint32_t staging) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t matrix_row = lane % 16;
    auto* out = static_cast<__nv_bfloat16*>(arguments.out) + column + lane % 8 * 8;
    std::uint32_t to[4];  // rows that this lane writes to
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
        to[i] = rows.at(product, lane / 8 + 4 * i);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            const float* s = sum + (half * 8 + pair * 2) * 4;
            const std::uint32_t chunk = pair * 2 + lane / 16;
            ptx::store_matrices(staging + matrix_row * row_bytes + ((chunk ^ (matrix_row % 8)) * 16),
                                pack<relu>(s[0], s[1]), pack<relu>(s[2], s[3]), pack<relu>(s[4], s[5]),
                                pack<relu>(s[6], s[7]));
        }
        __syncwarp();
        uint4 v[4];
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::uint32_t r = lane / 8 + 4 * i;
            v[i] = ptx::load_shared_16(staging + r * row_bytes + ((lane % 8) ^ (r % 8)) * 16);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            if (to[i] != nowhere) {
                ptx::store_global_16(out + std::size_t{to[i]} * arguments.outputs + half * 64, v[i]);
            }
        }
        __syncwarp();
    }
}

template <bool relu>
__device__ __forceinline__ float finished(float value) {
    std::uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(relu ? fmaxf(value, 0.0F) : value));
    return __uint_as_float(rounded);
}

/// The same for fp32: four threads write the 32 bytes of a sector.
template <bool relu, bool pooled>
__device__ __forceinline__ void store_tf32(const Arguments& arguments, const float (&sum)[64], std::uint32_t product,
                                           const OutputRows<pooled>& rows, std::uint32_t column) {
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t upper = 0; upper < 2; ++upper) {
        const std::uint32_t to = rows.at(product, lane / 4 + 8 * upper);
        if (to != nowhere) {
            float* out = static_cast<float*>(arguments.out) + std::size_t{to} * arguments.outputs + column;
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                reinterpret_cast<float2*>(out)[lane % 4 + 4 * j] = {finished<relu>(sum[4 * j + 2 * upper]),
                                                                    finished<relu>(sum[4 * j + 2 * upper + 1])};
            }
        }
    }
}

template <class Type, bool relu, bool pooled>
__device__ __forceinline__ void store(const Arguments& arguments, float (&sums)[products][64],
                                      const OutputRows<pooled>& rows, std::uint32_t column, std::uint32_t staging) {
    if constexpr (pooled) {
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            sums[0][i] = fmaxf(fmaxf(sums[0][i], sums[1][i]), sums[2][i]);
        }
    }
#pragma unroll
    for (std::uint32_t m = 0; m < (pooled ? 1 : products); ++m) {
        if constexpr (std::is_same_v<Type, __nv_bfloat16>) {
            store_bf16<relu>(arguments, sums[m], m, rows, column, staging);
        } else {
            store_tf32<relu>(arguments, sums[m], m, rows, column);
        }
    }
}

/// `bias` is the address of this thread's first column's.
__device__ __forceinline__ void begin_with_bias(float (&sums)[products][64], std::uint32_t bias) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        const float2 two = ptx::load_shared_8(bias + j * 32);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (std::uint32_t m = 0; m < products; ++m) {
                sums[m][4 * j + i] = i % 2 == 0 ? two.x : two.y;
            }
        }
    }
}

template <class Type, bool relu, bool pooled>
__device__ __forceinline__ void consume(const Arguments& arguments, const Layout& layout, std::uint32_t consumer) {
    const std::uint32_t thread = threadIdx.x % warpgroup_threads;
    const std::uint32_t warp = thread / 32;
    const auto free_weights = [&](std::uint32_t stage) {
        if (thread == 0) {
            ptx::arrive(layout.weights_free(consumer, stage));
        }
    };
    const auto free_input = [&](std::uint32_t stage) {
        if (thread == 0) {
            ptx::arrive(layout.input_free(stage));
        }
    };
    Ring<weight_stages> weights;
    Ring<input_stages> input;
    float sums[products][64];
    for (Tiles tiles(arguments); tiles.any(); tiles.next()) {
        const OutputRows<pooled> rows(arguments, tiles.row_tile(), warp);
        begin_with_bias(sums, layout.bias(tiles.column() + consumer * warpgroup_columns + thread % 4 * 2));
        std::uint32_t used_weights = weight_stages;  // none yet
        std::uint32_t used_input = input_stages;
        for (std::uint32_t piece = 0; piece < arguments.pieces; ++piece, input.next()) {
            ptx::wait(layout.input_full(input.stage), input.parity);
            for (std::uint32_t tap = 0; tap < arguments.taps; ++tap, weights.next()) {
                std::uint64_t a[products];
#pragma unroll
                for (std::uint32_t m = 0; m < products; ++m) {
                    const std::uint32_t shifted = m + tap;
                    const std::uint32_t row =
                        pooled ? shifted % 3 * arguments.phase_rows + shifted / 3 : m * product_rows + tap;
                    a[m] = wgmma::matrix(layout.input(input.stage) + row * row_bytes);
                }
                const std::uint64_t b = wgmma::matrix(layout.weights(consumer, weights.stage));
                ptx::wait(layout.weights_full(consumer, weights.stage), weights.parity);
                wgmma::fence();
#pragma unroll
                for (std::uint32_t k = 0; k < row_bytes; k += 32) {
#pragma unroll
                    for (std::uint32_t m = 0; m < products; ++m) {
                        wgmma::multiply<Type>(sums[m], a[m] + wgmma::advance(k), b + wgmma::advance(k));
                    }
                }
                wgmma::commit();
                wgmma::wait<1>();  // the step before is over: its weights and, after the last tap, its input are free
                if (used_weights != weight_stages) {
                    free_weights(used_weights);
                }
                if (tap == 0 && used_input != input_stages) {
                    free_input(used_input);
                }
                used_weights = weights.stage;
            }
            used_input = input.stage;
        }
        wgmma::wait<0>();
        free_weights(used_weights);
        free_input(used_input);
        store<Type, relu>(arguments, sums, rows, tiles.column() + consumer * warpgroup_columns,
                          layout.staging(consumer * 4 + warp));
    }
}

template <class Type, bool relu, bool pooled>
__global__ void __launch_bounds__(threads, 1)
    convolve(const __grid_constant__ CUtensorMap in_map, const __grid_constant__ CUtensorMap weight_map,
             const __grid_constant__ Arguments arguments) {
    extern __shared__ std::uint8_t shared[];
    const Layout layout((ptx::shared_address(shared) + pattern_bytes - 1) / pattern_bytes * pattern_bytes);
    if (threadIdx.x == 0) {
        ptx::prefetch_map(&in_map);
        ptx::prefetch_map(&weight_map);
        for (std::uint32_t i = 0; i < weight_stages; ++i) {
            for (std::uint32_t consumer = 0; consumer < consumers; ++consumer) {
                ptx::barrier_init(layout.weights_full(consumer, i), 1);
                ptx::barrier_init(layout.weights_free(consumer, i), 1);
            }
        }
        for (std::uint32_t i = 0; i < input_stages; ++i) {
            ptx::barrier_init(layout.input_full(i), 1);
            ptx::barrier_init(layout.input_free(i), consumers);
        }
        ptx::barrier_init(layout.lead(), 1);
        ptx::fence_barrier_init();
    }
    for (std::uint32_t i = threadIdx.x; i < arguments.outputs; i += threads) {
        ptx::store_shared(layout.bias(i), __ldg(arguments.bias + i));
    }
    __syncthreads();
    if (arguments.chained) {
        ptx::let_next_kernel_start();
    }
    const std::uint32_t warpgroup = __shfl_sync(~0U, threadIdx.x / warpgroup_threads, 0);
    if (warpgroup == 0) {
        ptx::give_registers<24>();
        constexpr int elements_a_row = std::is_same_v<Type, __nv_bfloat16> ? 64 : 32;
        const std::uint32_t warp = threadIdx.x / 32;
        if (threadIdx.x % 32 != 0) {
            // One thread of a warp copies.
        } else if (warp < consumers) {
            produce_weights(arguments, layout, &weight_map, elements_a_row, warp);
        } else if (warp == consumers) {
            if (arguments.chained) {
                ptx::wait_for_previous_kernel();  // nothing is read or written before its rows are there
            }
            produce_input<pooled>(arguments, layout, &in_map, elements_a_row);
        } else if (arguments.prefetch_bytes > 0) {
            const std::size_t at = std::size_t{blockIdx.x} * arguments.prefetch_bytes;
            ptx::prefetch(arguments.weights + at, arguments.prefetch_bytes);
        }
    } else {
        ptx::take_registers<240>();
        consume<Type, relu, pooled>(arguments, layout, warpgroup - 1);
    }
}

}  // namespace sluice::conv_gemm

#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/conv_gemm_layout.cuh"
#include "kernels/cuda/conv_gemm_store.cuh"
#include "kernels/cuda/conv_parts.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/ptx_sm90a.cuh"
#include "kernels/cuda/wgmma.cuh"

/// The kernel behind ConvGemm; see there.
namespace sluice::conv_gemm {

template <class Type>
inline constexpr bool in_two_parts = std::is_same_v<Type, values::Tf32x3>;
template <class Type>
using Factor = std::conditional_t<in_two_parts<Type>, wgmma::Tf32, Type>;
template <class Type>
using Parts = ConvParts<in_two_parts<Type>>;

/// Copies the rows of all tiles, one piece of their channels after the other.
template <class Type, bool pooled>
__device__ __forceinline__ void produce_input(const Arguments& arguments, const Layout& layout,
                                              const CUtensorMap* in_map, int elements_a_row) {
    const Parts<Type> parts(arguments.part_pieces);
    const std::uint64_t policy = ptx::no_preference();
    ptx::Ring<input_stages> input;
    for (Tiles tiles(arguments); tiles.any(); tiles.next()) {
        const int row = static_cast<int>(tiles.row_tile() * (pooled ? product_rows : tile_rows));
        for (std::uint32_t piece = 0; piece < parts.pieces(); ++piece, input.next()) {
            const int channel = static_cast<int>(parts.input(piece)) * elements_a_row;
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
template <class Type>
__device__ __forceinline__ void produce_weights(const Arguments& arguments, const Layout& layout,
                                                const CUtensorMap* weight_map, int elements_a_row,
                                                std::uint32_t consumer) {
    const Parts<Type> parts(arguments.part_pieces);
    const int channels = static_cast<int>(parts.row_pieces()) * elements_a_row;
    const std::uint64_t policy = ptx::keep_in_cache();  // or the activations of a large chunk drive them out
    // A stage is copied to again when its step is done, that of the first round never.
    std::uint32_t copies_to_lead = arguments.lead_steps == 0 ? 1 : weight_stages + arguments.lead_steps;
    if (consumer > 0) {
        ptx::wait(layout.lead(), 0);
    }
    ptx::Ring<weight_stages> weights;
    for (Tiles tiles(arguments); tiles.any(); tiles.next()) {
        const int column = static_cast<int>(tiles.column() + consumer * warpgroup_columns);
        for (std::uint32_t piece = 0; piece < parts.pieces(); ++piece) {
            const int channel = static_cast<int>(parts.weights(piece)) * elements_a_row;
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

/// Values in two parts get it at the end: beside it the sums of small products would be cut off.
__device__ __forceinline__ void begin_without_bias(float (&sums)[products][64]) {
#pragma unroll
    for (auto& product : sums) {
#pragma unroll
        for (float& sum : product) {
            sum = 0;
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
    const Parts<Type> parts(arguments.part_pieces);
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
    ptx::Ring<weight_stages> weights;
    ptx::Ring<input_stages> input;
    float sums[products][64];
    for (Tiles tiles(arguments); tiles.any(); tiles.next()) {
        const OutputRows<pooled> rows(arguments, tiles.row_tile(), warp);
        const std::uint32_t column = tiles.column() + consumer * warpgroup_columns;
        const std::uint32_t bias = layout.bias(column + thread % 4 * 2);
        if constexpr (in_two_parts<Type>) {
            begin_without_bias(sums);
        } else {
            begin_with_bias(sums, bias);
        }
        std::uint32_t used_weights = weight_stages;  // none yet
        std::uint32_t used_input = input_stages;
        for (std::uint32_t piece = 0; piece < parts.pieces(); ++piece, input.next()) {
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
                        wgmma::multiply<Factor<Type>>(sums[m], a[m] + wgmma::advance(k), b + wgmma::advance(k));
                    }
                }
                wgmma::commit();
                wgmma::wait<1>();  // the step before is done: its weights and, after the last tap, its input are free
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
        store<Type, relu>(arguments, sums, rows, column, bias, layout.staging(consumer * 4 + warp));
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
        constexpr int elements_a_row = std::is_same_v<Factor<Type>, wgmma::Tf32> ? 32 : 64;
        const std::uint32_t warp = threadIdx.x / 32;
        if (threadIdx.x % 32 != 0) {
            // One thread of a warp copies.
        } else if (warp < consumers) {
            produce_weights<Type>(arguments, layout, &weight_map, elements_a_row, warp);
        } else if (warp == consumers) {
            if (arguments.chained) {
                ptx::wait_for_previous_kernel();  // nothing is read or written before its rows are there
            }
            produce_input<Type, pooled>(arguments, layout, &in_map, elements_a_row);
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

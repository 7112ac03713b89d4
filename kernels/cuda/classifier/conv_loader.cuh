#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/classifier/conv_parts.hpp"
#include "kernels/cuda/classifier/conv_store.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/values.cuh"
#include "kernels/cuda/primitives/wgmma.cuh"

/// Loads a convolution's rows and weights for gemm/'s kernel: a step is one tap of one piece of the channels.
namespace sluice::conv {

/// Tile sizes. Each of two consumers multiplies all rows by its half of the columns. With pooling, the three rows of a
/// maximum count as one and are in three matrices of 64, so that a thread has all three.
template <bool pooled_>
struct Config {
    static constexpr bool pooled = pooled_;
    static constexpr std::uint32_t consumers = 2;
    static constexpr std::uint32_t blocks = 3;
    static constexpr std::uint32_t product_columns = 128;
    static constexpr std::uint32_t rows = (pooled ? 1 : blocks) * gemm::product_rows;
    static constexpr std::uint32_t columns = consumers * product_columns;
    static constexpr std::uint32_t threads = (consumers + 1) * gemm::warpgroup_threads;
    static constexpr bool moves_registers = true;
    static constexpr std::uint32_t turns = 1;
    static constexpr std::uint32_t cluster = 1;
    static constexpr std::uint32_t cluster_rows = 1;
    static constexpr std::uint32_t cluster_columns = 1;

    static constexpr std::uint32_t input_stages = 3;
    static constexpr std::uint32_t input_rows = 200;  // room for 192 rows and 8 taps
    static constexpr std::uint32_t input_bytes = input_rows * row_bytes;
    static constexpr std::uint32_t weight_stages = 4;
    static constexpr std::uint32_t weight_bytes = product_columns * row_bytes;  // each consumer has its own
    static_assert(input_bytes % gemm::pattern_bytes == 0 && weight_bytes % gemm::pattern_bytes == 0);

    static constexpr std::uint32_t weights_at = 0;
    static constexpr std::uint32_t inputs_at = weights_at + consumers * weight_stages * weight_bytes;
    static constexpr std::uint32_t boxes_at = inputs_at + input_stages * input_bytes;
    static constexpr std::uint32_t bias_at = boxes_at + consumers * gemm::warps_per_warpgroup * box_bytes;
    static constexpr std::uint32_t most_columns = 1024;  // room for their bias
    static constexpr std::uint32_t barriers_at = bias_at + most_columns * sizeof(float);
    static constexpr std::uint32_t barriers = 2 * (consumers * weight_stages + input_stages) + 1;
    static constexpr std::uint32_t shared_bytes = barriers_at + barriers * 8;
};

/// Addresses in shared memory.
template <class C>
class Layout {
public:
    __device__ explicit Layout(std::uint32_t base) : base_(base) {}

    __device__ __forceinline__ std::uint32_t weights(std::uint32_t consumer, std::uint32_t stage) const {
        return base_ + C::weights_at + (consumer * C::weight_stages + stage) * C::weight_bytes;
    }
    __device__ __forceinline__ std::uint32_t input(std::uint32_t stage) const {
        return base_ + C::inputs_at + stage * C::input_bytes;
    }
    __device__ __forceinline__ std::uint32_t box(std::uint32_t warp) const {
        return base_ + C::boxes_at + warp * box_bytes;
    }
    __device__ __forceinline__ std::uint32_t bias(std::uint32_t column) const {
        return base_ + C::bias_at + column * static_cast<std::uint32_t>(sizeof(float));
    }
    __device__ __forceinline__ std::uint32_t weights_full(std::uint32_t consumer, std::uint32_t stage) const {
        return barrier(consumer * C::weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t weights_free(std::uint32_t consumer, std::uint32_t stage) const {
        return barrier((C::consumers + consumer) * C::weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t input_full(std::uint32_t stage) const {
        return barrier(2 * C::consumers * C::weight_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t input_free(std::uint32_t stage) const {
        return barrier(2 * C::consumers * C::weight_stages + C::input_stages + stage);
    }
    __device__ __forceinline__ std::uint32_t lead() const { return barrier(C::barriers - 1); }

private:
    __device__ __forceinline__ std::uint32_t barrier(std::uint32_t number) const {
        return base_ + C::barriers_at + number * 8;
    }

    std::uint32_t base_;
};

struct Operands {
    CUtensorMap input;
    CUtensorMap weights;
    const std::uint8_t* all_weights;
    std::size_t weight_bytes;
    std::uint32_t taps;
    std::uint32_t part_pieces;  // pieces of row_bytes in a row of the input or a part of it
    std::uint32_t phase_rows;   // rows of each of the three matrices with pooling
    std::uint32_t copied_rows;  // input rows of a tile
    std::uint32_t lead_steps;
};

template <class Type>
inline constexpr bool in_two_parts = std::is_same_v<Type, values::Tf32x3>;
/// What the tensor cores multiply.
template <class Type>
using Factor = std::conditional_t<in_two_parts<Type>, wgmma::Tf32, Type>;

template <class Type, class C>
class Loader {
public:
    using Operands = conv::Operands;
    using Layout = conv::Layout<C>;
    static constexpr bool waits = true;  // before the rows arrive, only weights are read

    __device__ __forceinline__ static void prepare(const Operands& operands, const Layout& layout) {
        ptx::prefetch_map(&operands.input);
        ptx::prefetch_map(&operands.weights);
        for (std::uint32_t consumer = 0; consumer < C::consumers; ++consumer) {
            for (std::uint32_t i = 0; i < C::weight_stages; ++i) {
                ptx::barrier_init(layout.weights_full(consumer, i), 1);
                ptx::barrier_init(layout.weights_free(consumer, i), 1);
            }
        }
        for (std::uint32_t i = 0; i < C::input_stages; ++i) {
            ptx::barrier_init(layout.input_full(i), 1);
            ptx::barrier_init(layout.input_free(i), C::consumers);
        }
        ptx::barrier_init(layout.lead(), 1);
    }

    /// One thread of a warp copies.
    __device__ __forceinline__ static void produce(const gemm::Arguments& arguments, const Operands& operands,
                                                   const Layout& layout) {
        const std::uint32_t warp = threadIdx.x % gemm::warpgroup_threads / 32;
        if (threadIdx.x % 32 != 0) {
            return;
        }
        if (warp < C::consumers) {
            produce_weights(arguments, operands, layout, warp);
        } else if (warp == C::consumers) {
            produce_input(arguments, operands, layout);
        } else {
            prefetch_weights(operands);
        }
    }

    __device__ __forceinline__ Loader(const gemm::Arguments&, const Operands& operands, const Layout& layout,
                                      std::uint32_t consumer)
        : layout_(layout), taps_(operands.taps), phase_rows_(operands.phase_rows), consumer_(consumer) {}

    __device__ __forceinline__ std::uint32_t first_tile() const { return 0; }
    __device__ __forceinline__ void begin() {
        used_weights_ = C::weight_stages;
        used_input_ = C::input_stages;
    }
    /// A matrix begins at the row of its tap.
    __device__ __forceinline__ gemm::Matrices<C> wait() const {
        if (tap_ == 0) {
            ptx::wait(layout_.input_full(input_.stage), input_.parity);
        }
        gemm::Matrices<C> matrices;
#pragma unroll
        for (std::uint32_t m = 0; m < C::blocks; ++m) {
            const std::uint32_t shifted = m + tap_;
            const std::uint32_t row =
                C::pooled ? shifted % 3 * phase_rows_ + shifted / 3 : m * gemm::product_rows + tap_;
            matrices.a[m] = wgmma::matrix(layout_.input(input_.stage) + row * row_bytes);
        }
        matrices.b = wgmma::matrix(layout_.weights(consumer_, weights_.stage));
        ptx::wait(layout_.weights_full(consumer_, weights_.stage), weights_.parity);
        return matrices;
    }
    /// The previous step is done: frees its weights and, after the last tap, its input.
    __device__ __forceinline__ void next() {
        if (used_weights_ != C::weight_stages) {
            arrive(layout_.weights_free(consumer_, used_weights_));
        }
        if (tap_ == 0 && used_input_ != C::input_stages) {
            arrive(layout_.input_free(used_input_));
        }
        used_weights_ = weights_.stage;
        weights_.next();
        if (++tap_ == taps_) {
            tap_ = 0;
            used_input_ = input_.stage;
            input_.next();
        }
    }
    __device__ __forceinline__ void last_begun() const {}
    __device__ __forceinline__ void end() const {
        arrive(layout_.weights_free(consumer_, used_weights_));
        arrive(layout_.input_free(used_input_));
    }

private:
    using Parts = ConvParts<in_two_parts<Type>>;
    static constexpr int row_elements = std::is_same_v<Factor<Type>, wgmma::Tf32> ? 32 : 64;

    /// Copies the rows of all tiles, piece by piece of their channels.
    __device__ __forceinline__ static void produce_input(const gemm::Arguments& arguments, const Operands& operands,
                                                         const Layout& layout) {
        const Parts parts(operands.part_pieces);
        if (arguments.chained) {
            ptx::wait_for_previous_kernel();
        }
        ptx::Ring<C::input_stages> input;
        for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
            for (std::uint32_t piece = 0; piece < parts.pieces(); ++piece, input.next()) {
                const int channel = static_cast<int>(parts.input(piece)) * row_elements;
                ptx::wait(layout.input_free(input.stage), input.parity ^ 1);
                const std::uint32_t full = layout.input_full(input.stage);
                ptx::arrive_expecting(full, operands.copied_rows * row_bytes);
                const std::uint32_t to = layout.input(input.stage);
                if constexpr (C::pooled) {
                    ptx::load_3d(to, &operands.input, full, channel, tiles.row(), 0);
                } else {
                    ptx::load_2d(to, &operands.input, full, channel, tiles.row());
                }
            }
        }
    }

    /// Copies one consumer's weights of all steps: tap by tap for each piece of the channels. The consumers run out of
    /// step, so that one multiplies while the other stores: the second's begin when the first has finished lead_steps
    /// steps.
    __device__ __forceinline__ static void produce_weights(const gemm::Arguments& arguments, const Operands& operands,
                                                           const Layout& layout, std::uint32_t consumer) {
        const Parts parts(operands.part_pieces);
        const std::uint64_t policy = ptx::keep_in_cache();  // otherwise a large chunk's activations evict them
        // A stage is refilled when its step is done; in the first round it is free.
        std::uint32_t copies_to_lead = operands.lead_steps == 0 ? 1 : C::weight_stages + operands.lead_steps;
        if (consumer > 0) {
            ptx::wait(layout.lead(), 0);
        }
        ptx::Ring<C::weight_stages> weights;
        for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
            const int column = tiles.column() + static_cast<int>(consumer * C::product_columns);
            for (std::uint32_t piece = 0; piece < parts.pieces(); ++piece) {
                for (std::uint32_t tap = 0; tap < operands.taps; ++tap, weights.next()) {
                    const std::uint32_t row_piece = tap * parts.row_pieces() + parts.weights(piece);
                    ptx::wait(layout.weights_free(consumer, weights.stage), weights.parity ^ 1);
                    if (consumer == 0 && copies_to_lead > 0 && --copies_to_lead == 0) {
                        ptx::arrive(layout.lead());
                    }
                    const std::uint32_t full = layout.weights_full(consumer, weights.stage);
                    ptx::arrive_expecting(full, C::weight_bytes);
                    ptx::load_2d(layout.weights(consumer, weights.stage), &operands.weights, full,
                                 static_cast<int>(row_piece) * row_elements, column, policy);
                }
            }
        }
        if (consumer == 0 && copies_to_lead > 0) {
            ptx::arrive(layout.lead());
        }
    }

    /// Each block prefetches a share of the weights into the L2 cache.
    __device__ __forceinline__ static void prefetch_weights(const Operands& operands) {
        constexpr std::size_t most = 65536;
        const std::size_t share = std::min(operands.weight_bytes / gridDim.x, most) / 16 * 16;
        if (share > 0) {
            ptx::prefetch(operands.all_weights + blockIdx.x * share, static_cast<std::uint32_t>(share));
        }
    }

    __device__ __forceinline__ static void arrive(std::uint32_t barrier) {
        if (threadIdx.x % gemm::warpgroup_threads == 0) {
            ptx::arrive(barrier);
        }
    }

    Layout layout_;
    std::uint32_t taps_;
    std::uint32_t phase_rows_;
    std::uint32_t consumer_;
    std::uint32_t tap_ = 0;
    ptx::Ring<C::weight_stages> weights_{};
    ptx::Ring<C::input_stages> input_{};
    std::uint32_t used_weights_ = 0;  // previous stages; weight_stages, input_stages: none
    std::uint32_t used_input_ = 0;
};

}  // namespace sluice::conv

#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/activation.cuh"
#include "kernels/cuda/gemm/box.cuh"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/tile_terms.cuh"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/transpose.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// Epilogue of Gemm's kernel.
namespace sluice::gemm {

/// Stores a warp's sums. Boxes of 16 rows by 64 columns are in shared memory, from which the copy engine stores them
/// while the next tile is multiplied. The residual is loaded into the boxes the same way. What becomes of the results
/// is not among the arguments, as that would make all products slower.
template <class Type, class C, Results kind = Results::values>
class BoxEpilogue {
    static constexpr bool are_codes = kind == Results::codes_by_tanh || kind == Results::codes_by_erf;

public:
    using Target = BoxTarget;

    __device__ __forceinline__ static void prepare(const Target& target, const Layout<C>& layout) {
        ptx::prefetch_map(&target.out);
        for (std::uint32_t warp = 0; warp < C::warps; ++warp) {
            for (std::uint32_t box = 0; box < C::boxes; ++box) {
                ptx::barrier_init(layout.residual(warp, box), 1);
            }
        }
        TileTerms<C>::prepare(layout);
    }

    __device__ __forceinline__ static void produce(const Arguments& arguments, const Layout<C>& layout) {
        TileTerms<C>::produce(arguments, layout, [](std::uint32_t first, std::uint32_t c) { return first + c; });
    }

    __device__ __forceinline__ BoxEpilogue(const Arguments& arguments, const Target& target, const Layout<C>& layout,
                                           std::uint32_t consumer)
        : arguments_(arguments),
          layout_(layout),
          out_(&target.out),
          residual_(&target.residual),
          rows_(target.rows),
          code_scale_(are_codes ? *target.code_scale : 1.0F),
          warp_(consumer * warps_per_warpgroup + threadIdx.x % warpgroup_threads / 32),
          lane_(threadIdx.x % 32),
          first_row_((C::ping_pong ? 0 : consumer) * C::blocks * product_rows +
                     threadIdx.x % warpgroup_threads / 32 * box_rows),
          terms_(layout, first_row_, C::ping_pong ? consumer : 0) {}

    /// Requests the residual of the first boxes.
    __device__ __forceinline__ void begin(Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        row_ = static_cast<int>(row + first_row_);
        column_ = static_cast<int>(column);
        if (arguments_.residual && lane_ == 0) {
            ptx::wait_for_store_reads<0>();
#pragma unroll
            for (std::uint32_t box = 0; box < C::boxes; ++box) {
                request(box);
            }
        }
        begin_at_zero<C>(sums);
    }

    __device__ __forceinline__ void store(const Sums<C>& sums) {
        terms_.wait();
#pragma unroll
        for (std::uint32_t box = 0; box < tile_boxes; ++box) {
            const std::uint32_t block = box / C::chunks;
            const std::uint32_t chunk = box % C::chunks;
            if (!arguments_.residual) {
                ptx::wait_for_store_reads<C::boxes - 1>();  // of lane 0, which stores
                __syncwarp();
            } else {
                ptx::wait(layout_.residual(warp_, box % C::boxes), parity_);
                parity_ ^= (box + 1) % C::boxes == 0;
            }
            if (chunk == 0) {
                terms_.load_scales(block);
            }
            store_box(sums[block], box % C::boxes, block, chunk);
            constexpr std::uint32_t behind = C::boxes > 1 ? 1 : 0;
            if (arguments_.residual && box + 1 > behind && box - behind + C::boxes < tile_boxes && lane_ == 0) {
                ptx::wait_for_store_reads<behind>();
                request(box - behind + C::boxes);
            }
        }
        terms_.release();
    }

    __device__ __forceinline__ void finish() const {
        ptx::wait_for_stores();  // they read this block's shared memory
    }

private:
    static constexpr std::uint32_t tile_boxes = C::blocks * C::chunks;  // per warp
    static_assert(tile_boxes % C::boxes == 0);

    /// Requests the residual of a box, into the memory of one that the copy engine has read. Called by lane 0.
    __device__ __forceinline__ void request(std::uint32_t box) const {
        const std::uint32_t place = box % C::boxes;
        ptx::arrive_expecting(layout_.residual(warp_, place), box_bytes);
        ptx::load_2d(layout_.box(warp_, place), residual_, layout_.residual(warp_, place), column_of(box % C::chunks),
                     row_of(box / C::chunks));
    }

    __device__ __forceinline__ void store_box(const float (&sums)[C::columns / 2], std::uint32_t box,
                                              std::uint32_t block, std::uint32_t chunk) const {
        float values[box_columns / 2];
#pragma unroll
        for (std::uint32_t i = 0; i < box_columns / 2; ++i) {
            values[i] = sums[chunk * (box_columns / 2) + i];
        }
        terms_.apply(values, chunk * box_columns);
        if constexpr (kind == Results::gated) {
            store_gated(values, block, chunk);
            return;
        }
        if constexpr (are_codes) {
            std::uint32_t codes[box_columns / 4];  // a word for two columns of both rows
            encode(values, codes);
            store_codes(codes, block, chunk);
            return;
        }
        activate<Type>(values, arguments_.activation);
        if (arguments_.residual) {
            add_residual(layout_.box(warp_, box), values);
        }
        fill_box(layout_.box(warp_, box), [&](std::uint32_t j, std::uint32_t i) {
            return values::pack<Type>(values[4 * j + 2 * i], values[4 * j + 2 * i + 1]);
        });
        ptx::fence_copy_engine();
        __syncwarp();
        if (lane_ == 0) {
            ptx::store_2d(out_, layout_.box(warp_, box), column_of(chunk), row_of(block));
            ptx::commit_stores();
        }
        if (arguments_.out_sums != nullptr) {
            store_sums(values, block, chunk);  // behind the fence, which would wait for it
        }
    }

    /// Stores what a box's gates make of the other values, straight from registers: each of four lanes gets eight
    /// columns of a row, so that a row's 64 bytes are stored together.
    __device__ __forceinline__ void store_gated(const float (&values)[box_columns / 2], std::uint32_t block,
                                                std::uint32_t chunk) const {
        constexpr std::uint32_t groups = box_columns / (2 * gate_columns);
        static_assert(groups == 4);
        float results[box_columns / 4];
#pragma unroll
        for (std::uint32_t i = 0; i < box_columns / 4; ++i) {
            results[i] = values[i / 4 * 8 + i % 4];
        }
        activate_gates<Type>(results, arguments_.activation);
#pragma unroll
        for (std::uint32_t i = 0; i < box_columns / 4; ++i) {
            results[i] *= values[i / 4 * 8 + 4 + i % 4];
        }
        const std::uint32_t columns = arguments_.columns / 2;
        const std::uint32_t column = static_cast<std::uint32_t>(column_of(chunk)) / 2 + lane_ % 4 * gate_columns;
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            std::uint32_t words[groups];
#pragma unroll
            for (std::uint32_t group = 0; group < groups; ++group) {
                words[group] = values::pack<Type>(results[4 * group + 2 * half], results[4 * group + 2 * half + 1]);
            }
            transpose_among_four(words);
            const std::uint32_t row = lane_row(block, half);
            if (row < arguments_.rows && column < columns) {
                ptx::store_global_16(static_cast<Type*>(rows_) + std::size_t{row} * columns + column,
                                     {words[0], words[1], words[2], words[3]});
            }
        }
    }

    /// codes[j] are those of values 2 j and 2 j + 1.
    __device__ __forceinline__ void encode(const float (&values)[box_columns / 2],
                                           std::uint32_t (&codes)[box_columns / 4]) const {
        const __half2 scale = __float2half2_rn(code_scale_);
#pragma unroll
        for (std::uint32_t j = 0; j < box_columns / 4; ++j) {
            const float first = values[2 * j];
            const float second = values[2 * j + 1];
            codes[j] = kind == Results::codes_by_tanh
                           ? values::e4m3_of(scaled_gelu_tanh_about(__floats2half2_rn(first, second), scale))
                           : values::e4m3_of(gelu_erf(first) * code_scale_, gelu_erf(second) * code_scale_);
        }
    }

    /// Stores a box's codes straight from registers, in Fp8GemmMemory's order: those of a lane are together.
    __device__ __forceinline__ void store_codes(const std::uint32_t (&codes)[box_columns / 4], std::uint32_t block,
                                                std::uint32_t chunk) const {
        const std::uint32_t column = static_cast<std::uint32_t>(column_of(chunk)) + lane_ % 4 * 16;
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            const auto word = [&](std::uint32_t i) { return codes[4 * i + half] | codes[4 * i + 2 + half] << 16; };
            const std::uint32_t row = lane_row(block, half);
            if (row < arguments_.rows && column < arguments_.columns) {
                ptx::store_global_16(static_cast<std::byte*>(rows_) + std::size_t{row} * arguments_.columns + column,
                                     {word(0), word(1), word(2), word(3)});
            }
        }
    }

    [[nodiscard]] __device__ __forceinline__ std::uint32_t lane_row(std::uint32_t block, std::uint32_t half) const {
        return static_cast<std::uint32_t>(row_of(block)) + lane_ / 4 + 8 * half;
    }

    /// The sum over the four lanes that have values of the same row. All lanes call.
    [[nodiscard]] __device__ __forceinline__ static float sum_of_row(float part) {
        part += __shfl_xor_sync(~0U, part, 1);
        return part + __shfl_xor_sync(~0U, part, 2);
    }

    /// Stores the RowSums of a box, whose rows have summed_values columns.
    __device__ __forceinline__ void store_sums(const float (&values)[box_columns / 2], std::uint32_t block,
                                               std::uint32_t chunk) const {
        static_assert(box_columns == summed_values);
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            RowSums sums{};
#pragma unroll
            for (std::uint32_t j = 0; j < box_columns / 8; ++j) {
#pragma unroll
                for (std::uint32_t i = 0; i < 2; ++i) {
                    const float value = values[4 * j + 2 * half + i];
                    sums.values += value;
                    sums.squares = fmaf(value, value, sums.squares);
                }
            }
            sums = {sum_of_row(sums.values), sum_of_row(sums.squares)};
            const std::uint32_t row = lane_row(block, half);
            const auto column = static_cast<std::uint32_t>(column_of(chunk));
            if (lane_ % 4 == 0 && row < arguments_.rows && column < arguments_.columns) {
                arguments_.out_sums[(std::size_t{row} * arguments_.columns + column) / summed_values] = sums;
            }
        }
    }

    __device__ __forceinline__ int row_of(std::uint32_t block) const {
        return row_ + static_cast<int>(block * product_rows);
    }
    __device__ __forceinline__ int column_of(std::uint32_t chunk) const {
        return column_ + static_cast<int>(chunk * box_columns);
    }

    __device__ __forceinline__ void add_residual(std::uint32_t box, float (&values)[box_columns / 2]) const {
        constexpr std::uint32_t loads = box_columns / 16;
        std::uint32_t words[loads][4];  // all in flight
#pragma unroll
        for (std::uint32_t i = 0; i < loads; ++i) {
            mma::load_matrices(words[i], matrices_at(box, 2 * i));
        }
#pragma unroll
        for (std::uint32_t i = 0; i < loads; ++i) {
            float others[8];
            values::unpack({words[i][0], words[i][1], words[i][2], words[i][3]}, others, Type{});
#pragma unroll
            for (std::uint32_t j = 0; j < 8; ++j) {
                values[8 * i + j] += others[j];
            }
        }
    }

    const Arguments& arguments_;
    Layout<C> layout_;
    const CUtensorMap* out_;
    const CUtensorMap* residual_;
    void* rows_;
    float code_scale_;
    std::uint32_t warp_;
    std::uint32_t lane_;
    std::uint32_t first_row_;
    int row_ = 0;
    int column_ = 0;
    std::uint32_t parity_ = 0;
    TileTerms<C> terms_;
};

}  // namespace sluice::gemm

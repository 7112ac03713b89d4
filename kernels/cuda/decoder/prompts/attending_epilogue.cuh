#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/decoder/prompts/attending_product.hpp"
#include "kernels/cuda/decoder/prompts/page_prompts.cuh"
#include "kernels/cuda/gemm/box.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/step_loader.cuh"
#include "kernels/cuda/gemm/tile_terms.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice::decoder {

/// Stores queries, keys and values of a head; each warp has those of 16 rows of each block of 64. If the rows are a
/// prompt, its keys and values go to its page of the cache, and the warp attends.
template <Precision precision, class C>
class AttendingEpilogue {
public:
    using Target = AttendingTarget;
    static constexpr std::uint32_t parts = 3;  // queries, keys, values
    using Columns = gemm::PartColumns<C, parts>;

    __device__ __forceinline__ static void prepare(const Target& target, const gemm::Layout<C>& layout) {
        ptx::prefetch_map(&target.rows);
        ptx::prefetch_map(&target.mixed);
        ptx::prefetch_map(&target.cache);
        gemm::TileTerms<C>::prepare(layout);
    }

    __device__ __forceinline__ static void produce(const gemm::Arguments& arguments, const gemm::Layout<C>& layout) {
        gemm::TileTerms<C>::produce(arguments, layout, [&](std::uint32_t first, std::uint32_t c) {
            return Columns::in_product(arguments.columns, first, c);
        });
    }

    __device__ __forceinline__ AttendingEpilogue(const gemm::Arguments& arguments, const Target& target,
                                                 const gemm::Layout<C>& layout, std::uint32_t consumer)
        : target_(target),
          layout_(layout),
          rows_(*arguments.active),
          width_(arguments.columns / parts),
          consumer_(consumer),
          first_row_(threadIdx.x % gemm::warpgroup_threads / warp_lanes * gemm::box_rows),
          terms_(layout, first_row_, consumer) {
        static_assert(C::ping_pong && C::boxes == 2 * C::blocks && C::columns == parts * head_size &&
                      C::rows == attended_rows);
    }

    /// Requests the pages of the tile's rows.
    __device__ __forceinline__ void begin(gemm::Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        row_ = row + first_row_;
        column_ = column / parts;
        const std::uint32_t of_lane = row + threadIdx.x % warp_lanes * page_positions;
        page_ = threadIdx.x % warp_lanes < tile_pages && of_lane < rows_
                    ? target_.prompt_pages[of_lane / page_positions]
                    : no_page;
        gemm::begin_at_zero<C>(sums);
    }

    __device__ __forceinline__ void store(const gemm::Sums<C>& sums) {
        terms_.wait();
        BoxWords queries[C::blocks];
        std::uint32_t pages[C::blocks];
        bool finite = true;
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            terms_.load_scales(block);
            pages[block] =
                __shfl_sync(every_lane, page_, block * gemm::warps_per_warpgroup + first_row_ / gemm::box_rows);
            finite &= store_keys(sums[block], block, pages[block]);
            round(sums[block], queries_part, queries[block]);
        }
        terms_.release();
        if (target_.attends) {
            attend(queries, pages, finite);
        }
        store_queries(queries, pages);
    }

    __device__ __forceinline__ void finish() const {
        ptx::wait_for_stores();  // they read this block's shared memory
    }

private:
    static constexpr std::uint32_t head_size = page_head_size;
    static constexpr std::uint32_t queries_part = 0;
    static constexpr std::uint32_t keys_part = 1;
    static constexpr std::uint32_t values_part = 2;
    static constexpr std::uint32_t tile_pages = C::rows / page_positions;

    /// A part of the lane's results, rounded.
    __device__ __forceinline__ void round(const float (&sums)[C::columns / 2], std::uint32_t part,
                                          BoxWords& words) const {
#pragma unroll
        for (std::uint32_t first = 0; first < head_size; first += Columns::of_slice) {
            const std::uint32_t column = Columns::in_tile(part, first);
            float values[Columns::of_slice / 2];
#pragma unroll
            for (std::uint32_t i = 0; i < Columns::of_slice / 2; ++i) {
                values[i] = sums[column / 2 + i];
            }
            terms_.apply(values, column);
#pragma unroll
            for (std::uint32_t i = 0; i < Columns::of_slice / 4; ++i) {
                words[first / 8 + i / 2][i % 2] =
                    values::pack<values::Narrow<precision>>(values[2 * i], values[2 * i + 1]);
            }
        }
    }

    /// Address of the warpgroup's boxes number `number`, those of its warps one behind the other: first of keys and
    /// values, block by block, then of queries.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t boxes(std::uint32_t number) const {
        return layout_.box(consumer_ * gemm::warps_per_warpgroup, 0) +
               number % C::boxes * gemm::warps_per_warpgroup * gemm::box_bytes;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t box(std::uint32_t number) const {
        return boxes(number) + first_row_ * gemm::step_bytes;
    }
    [[nodiscard]] __device__ __forceinline__ static constexpr std::uint32_t keys_box(std::uint32_t block) {
        return 2 * block;
    }
    [[nodiscard]] __device__ __forceinline__ static constexpr std::uint32_t queries_box(std::uint32_t block) {
        return 2 * C::blocks + block;
    }

    __device__ __forceinline__ void fill(std::uint32_t number, const BoxWords& words) const {
        gemm::fill_box(box(number), [&](std::uint32_t j, std::uint32_t i) { return words[j][i]; });
    }

    /// Waits until all but the last `pending` groups of stores have left their boxes.
    template <int pending>
    __device__ __forceinline__ static void wait_for_boxes() {
        ptx::wait_for_store_reads<pending>();  // of lane 0, which stores
        __syncwarp();
    }

    /// Stores the box; lane 0 calls.
    __device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t number, std::uint32_t column,
                                              std::uint32_t row) const {
        ptx::store_2d(map, box(number), static_cast<int>(column), static_cast<int>(row));
    }

    /// Stores keys and values, to the cache if the rows are a prompt; whether the values are finite.
    __device__ __forceinline__ bool store_keys(const float (&sums)[C::columns / 2], std::uint32_t block,
                                               std::uint32_t page) const {
        if (block == 0) {
            wait_for_boxes<0>();
        } else {
            wait_for_boxes<C::blocks - 1>();
        }
        BoxWords words;
        round(sums, keys_part, words);
        fill(keys_box(block), words);
        round(sums, values_part, words);
        fill(keys_box(block) + 1, words);
        ptx::fence_copy_engine();
        __syncwarp();
        if (threadIdx.x % warp_lanes == 0) {
            const bool in_cache = page != no_page;
            const CUtensorMap* const map = in_cache ? &target_.cache : &target_.rows;
            const std::uint32_t column = in_cache ? column_ : width_ + column_;
            const std::uint32_t row = in_cache ? page * page_positions : row_ + block * gemm::product_rows;
            store_box(map, keys_box(block), column, row);
            store_box(map, keys_box(block) + 1, column + width_, row);
            ptx::commit_stores();
        }
        return are_finite(words);
    }

    /// Stores queries, or what has become of them.
    __device__ __forceinline__ void store_queries(const BoxWords (&queries)[C::blocks],
                                                  const std::uint32_t (&pages)[C::blocks]) const {
        wait_for_boxes<C::blocks - 1>();
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            fill(queries_box(block), queries[block]);
        }
        ptx::fence_copy_engine();
        __syncwarp();
        if (threadIdx.x % warp_lanes == 0) {
#pragma unroll
            for (std::uint32_t block = 0; block < C::blocks; ++block) {
                const bool attended = target_.attends && pages[block] != no_page;
                store_box(attended ? &target_.mixed : &target_.rows, queries_box(block), column_,
                          row_ + block * gemm::product_rows);
            }
            ptx::commit_stores();
        }
    }

    /// Puts results in place of the queries of rows that are prompts. `finite`: whether the warp's values are.
    __device__ __forceinline__ void attend(BoxWords (&queries)[C::blocks], const std::uint32_t (&pages)[C::blocks],
                                           bool finite) const {
        if (!__any_sync(every_lane, page_ != no_page)) {
            return;
        }
        if (ptx::all_of_warpgroup(consumer_, finite)) {
            WarpgroupPrompts<precision, C::blocks>::attend(
                queries, [&](std::uint32_t block) { return pages[block] != no_page; },
                [&](std::uint32_t block) { return boxes(keys_box(block)); },
                [&](std::uint32_t block) { return boxes(keys_box(block) + 1); }, target_.scale);
            ptx::synchronize_warpgroup(consumer_);  // no warp reads the boxes of others any more
            return;
        }
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            if (pages[block] != no_page) {
                attend_in_warp<precision>(queries[block], box(keys_box(block)), box(keys_box(block) + 1),
                                          target_.scale);
            }
        }
    }

    [[nodiscard]] __device__ __forceinline__ static bool are_finite(const BoxWords& words) {
        using Two = std::conditional_t<precision == Precision::bf16, __nv_bfloat162, __half2>;
        const std::uint32_t zeros = 0;
        Two sum = reinterpret_cast<const Two&>(zeros);
#pragma unroll
        for (const auto& of_column : words) {
#pragma unroll
            for (const std::uint32_t& word : of_column) {
                sum = __hfma2(reinterpret_cast<const Two&>(word), reinterpret_cast<const Two&>(zeros), sum);
            }
        }
        return (reinterpret_cast<const std::uint32_t&>(sum) & 0x7FFF7FFF) == 0;
    }

    const Target& target_;
    gemm::Layout<C> layout_;
    std::uint32_t rows_;   // of the pass
    std::uint32_t width_;  // of all heads' queries
    std::uint32_t consumer_;
    std::uint32_t first_row_;
    gemm::TileTerms<C> terms_;
    std::uint32_t row_ = 0;
    std::uint32_t column_ = 0;      // of the head
    std::uint32_t page_ = no_page;  // in a lane that has one, Memory::prompt_pages of the tile's rows
};

}  // namespace sluice::decoder

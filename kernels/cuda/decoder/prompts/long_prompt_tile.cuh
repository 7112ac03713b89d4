#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/page_write.cuh"
#include "kernels/cuda/decoder/prompts/long_prompt_memory.cuh"
#include "kernels/cuda/decoder/prompts/prompt_products.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_cluster.cuh"
#include "kernels/cuda/primitives/wgmma_registers.cuh"

namespace sluice::decoder {

/// Attention of 64 queries of a prompt in one head, by a warpgroup: a query sees the keys up to its own, and the first
/// `prefix`. It takes keys and values in steps of 64, up to those of its own queries, so that a query's result does not
/// depend on the block's other ones.
template <Precision precision>
class LongPromptTile {
    using Shared = LongPromptMemory;

public:
    using T = values::Narrow<precision>;

    /// `item`: number `n` of the block's. `group`: the warpgroup's number.
    __device__ __forceinline__ LongPromptTile(const Attention& attention, const LongTile& item, const Shared& shared,
                                              std::uint32_t n, std::uint32_t group)
        : attention_(attention),
          tile_(item.tile),
          shared_(shared),
          query_(item.tile.query + group * warpgroup_queries),
          prefix_(item.prefix),
          scale_(attention.scale * ptx::log2_e) {
        if (query_ < tile_.rows) {
            load_queries(shared.tile_at(n) + group * Shared::matrix_bytes);
        }
    }

    /// The steps from number `first` on, `steps` of them. Calls write(address of keys) with the step of the
    /// warpgroup's own keys. While a step's scores become weights, the values of the step before are added up.
    template <class Write>
    __device__ __forceinline__ void attend(std::uint32_t first, std::uint32_t steps, const Write& write) {
        const std::uint32_t own = (tile_.past + query_) / step_keys;
        const std::uint32_t end = query_ < tile_.rows ? max(own + 1, divide_up(prefix_, step_keys)) : 0;
        if (end != 0) {
            float scores[32] = {};
            std::uint32_t weights[4][4];
            float kept[2];
            shared_.wait_for_step(first);
            wgmma::fence();
            multiply_keys(scores, keys(first));
            wgmma::wait<0>();
            wgmma::order(scores);
            hide_later(scores, 0, own);
            weigh(scores, kept);
            pack(scores, weights);
            if (1 < end) {
                shared_.wait_for_step(first + 1);
            }
            for (std::uint32_t step = 0; step + 1 < end; ++step) {
                wgmma::fence();
                multiply_keys(scores, keys(first + step + 1));
                add_values(weights, keys(first + step));
                wgmma::wait<1>();
                wgmma::order(scores);
                hide_later(scores, step + 1, own);
                weigh(scores, kept);
                wgmma::order(scores);
                if (step + 2 < end) {
                    shared_.wait_for_step(first + step + 2);
                }
                wgmma::wait<0>();
                wgmma::order(mixed_);
                if (step == own) {
                    write(keys(first + step));
                }
                shared_.release_step(first + step);
                scale(kept);
                pack(scores, weights);
            }
            const std::uint32_t last = first + end - 1;
            hide_other_texts(keys(last), end - 1);
            wgmma::fence();
            add_values(weights, keys(last));
            wgmma::wait<0>();
            wgmma::order(mixed_);
            if (end - 1 == own) {
                write(keys(last));
            }
            shared_.release_step(last);
        }
        for (std::uint32_t step = end; step < steps; ++step) {  // of the block's other queries
            shared_.wait_for_step(first + step);
            shared_.release_step(first + step);
        }
        for (float& sum : sums_) {
            sum += __shfl_xor_sync(every_lane, sum, 1);
            sum += __shfl_xor_sync(every_lane, sum, 2);
        }
    }

    /// First position of the page with this warp's own keys, and how many of them there are.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t page_position() const {
        return tile_.past + query_ + threadIdx.x % warpgroup_threads / warp_lanes * page_positions;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t page_rows() const {
        const std::uint32_t end = tile_.past + tile_.rows;
        return page_position() < end ? end - page_position() : 0;
    }

    /// Address of 16 bytes of a row of that page: see write_page(). `keys`: as attend() passes it.
    [[nodiscard]] __device__ __forceinline__ static std::uint32_t own_piece(std::uint32_t keys, std::uint32_t matrix,
                                                                            std::uint32_t row, std::uint32_t piece) {
        const std::uint32_t first = threadIdx.x % warpgroup_threads / warp_lanes * page_positions;
        return keys + matrix * Shared::matrix_bytes + piece_at<Shared::row_bytes>(first + row, piece);
    }

    /// `to`: the prompt's first row, in which the head begins at `at`.
    __device__ __forceinline__ void store(T* to, std::uint32_t at) const {
        const std::uint32_t lane_row = query_ + threadIdx.x % warpgroup_threads / warp_lanes * 16 + lane() / 4;
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t row = lane_row + 8 * i;
            const float factor = __frcp_rn(sums_[i]);
            store_mixed<T>(reinterpret_cast<const float(&)[8][4]>(mixed_), row < tile_.rows, i, factor,
                           to + std::size_t{row} * attention_.out_stride + at);
        }
    }

private:
    [[nodiscard]] __device__ __forceinline__ static std::uint32_t lane() {
        return threadIdx.x % warp_lanes;
    }

    /// From the address of the warpgroup's.
    __device__ __forceinline__ void load_queries(std::uint32_t queries) {
        const std::uint32_t row = threadIdx.x % warpgroup_threads / warp_lanes * 16 + lane() % 16;
#pragma unroll
        for (std::uint32_t k = 0; k < Shared::head_size / 16; ++k) {
            const std::uint32_t at = queries + piece_at<Shared::row_bytes>(row, 2 * k + lane() / 16);
            mma::load_matrices(word_[k], at);
        }
    }

    [[nodiscard]] __device__ __forceinline__ std::uint32_t keys(std::uint32_t step) const {
        return __shfl_sync(every_lane, shared_.step_at(step), 0);  // the compiler then knows that all have the same
    }

    __device__ __forceinline__ void multiply_keys(float (&scores)[32], std::uint32_t keys) const {
#pragma unroll
        for (std::uint32_t k = 0; k < Shared::head_size / 16; ++k) {
            const std::uint64_t rows = wgmma::matrix(keys) + wgmma::advance(32 * k);
            wgmma::multiply_registers<T, false>(scores, word_[k], rows, k != 0);
        }
        wgmma::commit();
    }

    __device__ __forceinline__ void add_values(const std::uint32_t (&weights)[4][4], std::uint32_t keys) {
        const std::uint64_t values = wgmma::matrix(keys + Shared::matrix_bytes);
#pragma unroll
        for (std::uint32_t k = 0; k < step_keys / 16; ++k) {
            const std::uint64_t rows = values + wgmma::advance(k * 16 * Shared::row_bytes);
            wgmma::multiply_registers<T, true>(mixed_, weights[k], rows, true);
        }
        wgmma::commit();
    }

    __device__ __forceinline__ static void pack(const float (&scores)[32], std::uint32_t (&weights)[4][4]) {
#pragma unroll
        for (std::uint32_t i = 0; i < 16; ++i) {
            weights[i / 4][i % 4] = values::pack<T>(scores[2 * i], scores[2 * i + 1]);
        }
    }

    /// Masks the keys that a query does not see.
    __device__ __forceinline__ void hide_later(float (&scores)[32], std::uint32_t step, std::uint32_t own) const {
        if (step < own) {
            return;
        }
        const std::uint32_t query = page_position() + lane() / 4;
#pragma unroll
        for (std::uint32_t i = 0; i < 32; ++i) {
            const std::uint32_t key = step * step_keys + i / 4 * 8 + lane() % 4 * 2 + i % 2;
            scores[i] = key < max(query + i % 4 / 2 * 8 + 1, prefix_) ? scores[i] : -INFINITY;
        }
    }

    /// Values beyond the prompt become zeros: their weights are 0, but 0 times what other texts have there might be
    /// NaN. With a prefix every warpgroup of the block does so, with the same zeros.
    __device__ __forceinline__ void hide_other_texts(std::uint32_t keys, std::uint32_t step) const {
        const std::uint32_t rows = tile_.past + tile_.rows - step * step_keys;
        if (rows >= step_keys) {
            return;
        }
        const std::uint32_t warpgroup = threadIdx.x / warpgroup_threads;
        const std::uint32_t at = keys + Shared::matrix_bytes;
        for (std::uint32_t i = rows * Shared::row_bytes + threadIdx.x % warpgroup_threads * 16;
             i < Shared::matrix_bytes; i += warpgroup_threads * 16) {
            ptx::store_shared_16(at + i, {});
        }
        ptx::fence_copy_engine();
        ptx::synchronize_warpgroup(warpgroup);
    }

    __device__ __forceinline__ void scale(const float (&by)[2]) {
        if (!__any_sync(every_lane, by[0] != 1 || by[1] != 1)) {
            return;
        }
        scale_rows(reinterpret_cast<float(&)[8][4]>(mixed_), by);
    }

    /// See PromptWeights::weigh(). Both queries side by side: neither waits for the other.
    __device__ __forceinline__ void weigh(float (&scores)[32], float (&kept)[2]) {
        float largest[4] = {scores[0], scores[1], scores[2], scores[3]};
#pragma unroll
        for (std::uint32_t j = 4; j < 32; ++j) {
            largest[j % 4] = fmaxf(largest[j % 4], scores[j]);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            largest[i] = fmaxf(largest[2 * i], largest[2 * i + 1]);
            largest[i] = fmaxf(largest[i], __shfl_xor_sync(every_lane, largest[i], 1));
            largest[i] = fmaxf(largest[i], __shfl_xor_sync(every_lane, largest[i], 2));
        }
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            const bool grows = fmaf(largest[i], scale_, below_[i]) > 8;
            const float below = grows ? -largest[i] * scale_ : below_[i];
            kept[i] = grows ? ptx::exp2_about(below - below_[i]) : 1;
            below_[i] = below;
        }
        float sum[4] = {};
#pragma unroll
        for (std::uint32_t j = 0; j < 32; ++j) {
            scores[j] = ptx::exp2_about(fmaf(scores[j], scale_, below_[j % 4 / 2]));
            sum[j % 4] += scores[j];
        }
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            sums_[i] = fmaf(sums_[i], kept[i], sum[2 * i] + sum[2 * i + 1]);
        }
    }

    const Attention& attention_;
    const Tile& tile_;
    Shared shared_;
    std::uint32_t query_;  // the warpgroup's first
    std::uint32_t prefix_;
    float scale_;
    std::uint32_t word_[Shared::head_size / 16][4];  // of the lane's two queries
    float mixed_[32] = {};
    float below_[2] = {INFINITY, INFINITY};  // what a scaled score is less, before it becomes an exponent
    float sums_[2] = {0, 0};                 // of weights; up to the end of attend() of this lane's keys only
};

}  // namespace sluice::decoder

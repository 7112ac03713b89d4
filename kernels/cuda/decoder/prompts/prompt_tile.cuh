#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention/attention.hpp"
#include "kernels/cuda/decoder/attention/cache.cuh"
#include "kernels/cuda/decoder/attention/page_write.cuh"
#include "kernels/cuda/decoder/prompts/float_prompt_products.cuh"
#include "kernels/cuda/decoder/prompts/prompt_group.cuh"
#include "kernels/cuda/decoder/prompts/prompt_products.cuh"
#include "kernels/cuda/decoder/prompts/prompt_weights.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {

/// Attention of 16 queries of a prompt in one head, by a warp. It takes keys and values in steps of 16, up to those of
/// its own queries, from the cache those before the prompt's first row. In a round each warp of a group copies one step
/// for all of them. A query's result does not depend on the group, nor on where keys come from. Vaswani et al. 2017.
template <Precision precision, std::uint32_t head_size>
class PromptTile {
    using Products = PromptProducts<precision, head_size>;
    static constexpr std::uint32_t row_bytes = Products::row_bytes;
    static constexpr std::uint32_t matrix_bytes = key_rows * row_bytes;
    static constexpr std::uint32_t step_bytes = 2 * matrix_bytes;
    /// With two, a round is copied while the one before is used. Rows of 512 bytes leave room for one in 99 KiB a
    /// block.
    static constexpr std::uint32_t stages = row_bytes > 256 ? 1 : 2;

public:
    using T = typename Products::Value;
    static constexpr std::uint32_t warp_bytes = stages * step_bytes;

    /// `shared`: address of the block's memory. `queries` and `keys`: the head's, in the prompt's first row; `past`: in
    /// the cache, where the tile has one. A query sees the keys up to its own, and the first `prefix`.
    __device__ __forceinline__ PromptTile(const Attention& attention, const PromptGroup& group, const Tile& tile,
                                          std::uint32_t prefix, const T* queries, const T* keys,
                                          const PastKeys<T>& past, std::uint32_t shared)
        : attention_(attention),
          group_(group),
          tile_(tile),
          queries_(queries),
          keys_(keys),
          past_(past),
          shared_(shared + group.first_warp() * warp_bytes),
          lane_(threadIdx.x % warp_lanes),
          own_((tile.past + tile.query) / key_rows),
          prefix_(prefix),
          weights_(attention.scale) {}

    __device__ __forceinline__ void attend() {
        const std::uint32_t steps = group_.warps();
        const std::uint32_t rounds = last_of_group() / steps + 1;
        copy(0);
        load_queries();
        for (std::uint32_t round = 0; round < rounds; ++round) {
            if (stages == 2 && round + 1 < rounds) {
                copy(round + 1);
            } else {
                ptx::commit_copies();
            }
            ptx::wait_for_copies<1>();
            group_.wait();
            add_steps(keys(round, 0), round * steps, min((round + 1) * steps, last() + 1));
            if (round + 1 < rounds) {
                group_.wait();  // the round's memory is read before it is copied to again
                if (stages == 1) {
                    copy(round + 1);
                }
            }
        }
        ptx::wait_for_copies<0>();
        weights_.add_up();
    }

    /// Writes keys and values of the tile's own rows to their page. All warps of the group call.
    __device__ __forceinline__ void write_cache(T* page) const {
        write_page<head_size>(page, attention_.key_width(), own_rows(), own_pieces());
    }

    template <KvCache kind>
    __device__ __forceinline__ void write_cache(const CodePage<kind>& page) const {
        write_page<head_size, T>(page, own_rows(), own_pieces());
    }

    /// `to`: the prompt's first row, in which the head begins at `at`.
    __device__ __forceinline__ void store(T* to, std::uint32_t at) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t row = tile_.query + lane_ / 4 + 8 * i;
            products_.store(row < tile_.rows, i, weights_.factor(i), to + std::size_t{row} * attention_.out_stride, at,
                            attention_.out_stride);
        }
    }

private:
    static constexpr std::uint32_t piece_values = 16 / sizeof(T);
    static constexpr std::uint32_t row_pieces = head_size / piece_values;

    /// The last step.
    __device__ __forceinline__ std::uint32_t last() const {
        return max(own_, prefix_ == 0 ? 0 : (prefix_ - 1) / key_rows);
    }
    __device__ __forceinline__ std::uint32_t last_of_group() const {
        return max(last(), own_ + group_.warps() - 1 - group_.place());
    }

    __device__ __forceinline__ std::uint32_t keys(std::uint32_t round, std::uint32_t step_of_round) const {
        return shared_ + step_of_round * warp_bytes + round % stages * step_bytes;
    }

    __device__ __forceinline__ void load_queries() {
        const std::uint32_t first = min(tile_.query + lane_ / 4, tile_.rows - 1);
        const std::uint32_t second = min(first + 8, tile_.rows - 1);
        products_.load_queries(queries_ + std::size_t{first} * attention_.stride,
                               queries_ + std::size_t{second} * attention_.stride);
    }

    /// Copies this warp's step of a round.
    __device__ __forceinline__ void copy(std::uint32_t round) const {
        const std::uint32_t step = round * group_.warps() + group_.place();
        if (step <= last_of_group()) {
            copy_step(step, keys(round, group_.place()));
        }
        ptx::commit_copies();
    }

    /// Keys and values beyond the prompt become zeros: their weights are 0, but 0 times what rows hold might be NaN.
    /// Those rows are not read, as they may be beyond the memory.
    __device__ __forceinline__ void copy_step(std::uint32_t step, std::uint32_t to) const {
        constexpr std::uint32_t rows_at_once = warp_lanes / row_pieces;
        static_assert(warp_lanes % row_pieces == 0 && key_rows % rows_at_once == 0);
        const std::uint32_t first = lane_ / row_pieces;
        const std::uint32_t column = lane_ % row_pieces;
        const bool is_past = step * key_rows < tile_.past;
        const std::uint32_t rows = is_past ? key_rows : tile_.past + tile_.rows - step * key_rows;
        const std::uint32_t stride = is_past ? 2 * attention_.key_width() : attention_.stride;
        const T* from = is_past ? past_.page(step) : keys_ + std::size_t{step * key_rows - tile_.past} * stride;
        from += std::size_t{first} * stride + column * piece_values;
#pragma unroll
        for (std::uint32_t i = 0; i < key_rows; i += rows_at_once) {
            const bool exists = first + i < rows;
            const std::uint32_t at = to + piece_at<row_bytes>(first + i, column);
            ptx::copy_16(at, from, exists);
            ptx::copy_16(at + matrix_bytes, from + attention_.key_width(), exists);
            from += rows_at_once * stride;
        }
    }

    /// Address of the tile's own keys in shared memory: of the last two rounds they are still there, otherwise they are
    /// copied again.
    __device__ __forceinline__ std::uint32_t own_keys() const {
        if (stages == 2 && prefix_ == 0) {
            return keys(own_ / group_.warps(), own_ % group_.warps());
        }
        group_.wait();  // all of the last round are read
        copy_step(own_, keys(0, group_.place()));
        ptx::commit_copies();
        ptx::wait_for_copies<0>();
        __syncwarp();
        return keys(0, group_.place());
    }

    [[nodiscard]] __device__ __forceinline__ std::uint32_t own_rows() const {
        return tile_.rows - tile_.query;
    }

    /// For write_page().
    [[nodiscard]] __device__ __forceinline__ auto own_pieces() const {
        return [from = own_keys()](std::uint32_t matrix, std::uint32_t row, std::uint32_t piece) {
            return from + matrix * matrix_bytes + piece_at<row_bytes>(row, piece);
        };
    }

    /// Adds the steps from `begin` to `end`, the first of which is at `at`.
    __device__ __forceinline__ void add_steps(std::uint32_t at, std::uint32_t begin, std::uint32_t end) {
        std::uint32_t step = begin;
        for (; step + 1 < end; step += 2) {  // side by side as far as can be: neither waits for the other
            Scores first;
            Scores second;
            products_.multiply_keys(at, first);
            products_.multiply_keys(at + warp_bytes, second);
            hide_later(first, step);
            hide_later(second, step + 1);
            float kept[2];
            float kept_then[2];
            weights_.weigh(first, kept);
            weights_.weigh(second, kept_then);
            add(first, kept, at + matrix_bytes);
            add(second, kept_then, at + warp_bytes + matrix_bytes);
            at += 2 * warp_bytes;
        }
        if (step < end) {
            Scores scores;
            products_.multiply_keys(at, scores);
            hide_later(scores, step);
            float kept[2];
            weights_.weigh(scores, kept);
            add(scores, kept, at + matrix_bytes);
        }
    }

    /// Scales the sums of values by `kept`, and adds the values of 16 keys times their weights.
    __device__ __forceinline__ void add(const Scores& weights, const float (&kept)[2], std::uint32_t rows) {
        if (__any_sync(every_lane, kept[0] != 1 || kept[1] != 1)) {
            products_.scale(kept);
        }
        products_.add_values(weights, rows);
    }

    /// Masks the keys that a query does not see, in the tile's own step and in later ones.
    __device__ __forceinline__ void hide_later(Scores& scores, std::uint32_t step) const {
        if (step < own_) {
            return;
        }
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint32_t query = tile_.past + tile_.query + lane_ / 4 + i / 2 * 8;
                const std::uint32_t key = step * key_rows + Products::key_of(half, i % 2);
                scores[half][i] = key < max(query + 1, prefix_) ? scores[half][i] : -INFINITY;
            }
        }
    }

    const Attention& attention_;
    const PromptGroup& group_;
    const Tile& tile_;
    const T* queries_;
    const T* keys_;
    const PastKeys<T>& past_;
    std::uint32_t shared_;
    std::uint32_t lane_;
    std::uint32_t own_;  // the step of the tile's own keys
    std::uint32_t prefix_;
    Products products_;
    PromptWeights weights_;
};

}  // namespace sluice::decoder

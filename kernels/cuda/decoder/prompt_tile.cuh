#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/attention.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/matrices.cuh"
#include "kernels/cuda/decoder/prompt_group.cuh"
#include "kernels/cuda/decoder/quantised_cache.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t key_rows = 16;  // of a step
static_assert(tile_queries == key_rows && page_positions == key_rows, "a tile's own keys are those of a page");

template <class T>
constexpr Precision precision_of = std::is_same_v<T, __half> ? Precision::fp16 : Precision::bf16;

/// 16 queries of a prompt in one head, which a warp takes past the keys and values up to its own, 16 at a time: a step.
/// In a round each warp of a group copies one step for all of them. A query's result does not depend on the group.
/// Vaswani et al. 2017; Milakov, Gimelshein 2018 (the softmax as it goes along).
template <class T, std::uint32_t head_size>
class PromptTile {
public:
    static constexpr std::uint32_t row_bytes = head_size * sizeof(T) + 16;  // padded: eight rows meet no bank twice
    static constexpr std::uint32_t matrix_bytes = key_rows * row_bytes;
    static constexpr std::uint32_t step_bytes = 2 * matrix_bytes;
    static constexpr std::uint32_t warp_bytes = 2 * step_bytes;  // a step is copied while another is used

    /// `shared`: the block's. `queries` and `keys` are the first row's of the prompt, of the head. Besides the keys up
    /// to its own a query sees the first `prefix`.
    __device__ __forceinline__ PromptTile(const Attention& attention, const PromptGroup& group, const Tile& tile,
                                          std::uint32_t prefix, const T* queries, const T* keys, std::uint32_t shared)
        : attention_(attention),
          group_(group),
          tile_(tile),
          queries_(queries),
          keys_(keys),
          shared_(shared + group.first_warp() * warp_bytes),
          lane_(threadIdx.x % warp_lanes),
          own_(tile.query / key_rows),
          prefix_(prefix),
          scale_(attention.scale * 1.44269504F),
          spare_(8 / scale_) {}

    __device__ __forceinline__ void attend() {
        const std::uint32_t steps = group_.warps();
        const std::uint32_t rounds = last_of_group() / steps + 1;
        copy(0);
        load_queries();
        for (std::uint32_t round = 0; round < rounds; ++round) {
            if (round + 1 < rounds) {
                copy(round + 1);
            } else {
                ptx::commit_copies();
            }
            ptx::wait_for_copies<1>();
            group_.wait();
            add_steps(keys(round, 0), round * steps, min((round + 1) * steps, last() + 1));
            if (round + 1 < rounds) {
                group_.wait();  // the round's memory is read before it is copied to again
            }
        }
        ptx::wait_for_copies<0>();
        for (float& sum : sums_) {
            sum += __shfl_xor_sync(every_lane, sum, 1);
            sum += __shfl_xor_sync(every_lane, sum, 2);
        }
    }

    /// Keys and values of the tile's own rows into their page. The group remembers together.
    __device__ __forceinline__ void remember(T* page) const {
        constexpr std::uint32_t row_pieces = head_size / 8;
        const std::uint32_t width = attention_.key_heads * head_size;
        const std::uint32_t from = own_keys();
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * key_rows * row_pieces; i += warp_lanes) {
            const std::uint32_t piece = i + lane_;
            const std::uint32_t matrix = piece / (key_rows * row_pieces);
            const std::uint32_t row = piece / row_pieces % key_rows;
            const std::uint32_t column = piece % row_pieces;
            if (tile_.query + row < tile_.rows) {
                *reinterpret_cast<uint4*>(page + (2 * row + matrix) * width + column * 8) =
                    ptx::load_shared_16(from + matrix * matrix_bytes + row * row_bytes + column * 16);
            }
        }
    }

    template <KvCache kind>
    __device__ __forceinline__ void remember(const CodePage<kind>& page) const {
        constexpr std::uint32_t row_lanes = row_lanes_of<head_size>;
        const std::uint32_t from = own_keys();
        const std::uint32_t at = lane_ % row_lanes * lane_codes;
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * key_rows; i += warp_lanes / row_lanes) {
            const std::uint32_t matrix = (i + lane_ / row_lanes) / key_rows;
            const std::uint32_t row = (i + lane_ / row_lanes) % key_rows;
            const std::uint32_t row_at = from + matrix * matrix_bytes + row * row_bytes + at * sizeof(T);
            float of[lane_codes];
            values::unpack(ptx::load_shared_16(row_at), reinterpret_cast<float(&)[8]>(of[0]), T{});
            values::unpack(ptx::load_shared_16(row_at + 16), reinterpret_cast<float(&)[8]>(of[8]), T{});
            const CodedPiece piece = quantise<kind, head_size>(of);
            if (tile_.query + row < tile_.rows) {
                store_piece<kind, head_size>(page, matrix, row, at, piece);
            }
        }
    }

    /// `to`: of the first row of the prompt.
    __device__ __forceinline__ void store(T* to) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t row = tile_.query + lane_ / 4 + 8 * i;
            if (row < tile_.rows) {
                T* const at = to + std::size_t{row} * attention_.out_stride + lane_ % 4 * 2;
#pragma unroll
                for (std::uint32_t j = 0; j < head_size / 8; ++j) {
                    *reinterpret_cast<std::uint32_t*>(at + 8 * j) =
                        values::pack<T>(mixed_[j][2 * i] / sums_[i], mixed_[j][2 * i + 1] / sums_[i]);
                }
            }
        }
    }

private:
    /// The last step.
    __device__ __forceinline__ std::uint32_t last() const {
        return max(own_, prefix_ == 0 ? 0 : (prefix_ - 1) / key_rows);
    }
    __device__ __forceinline__ std::uint32_t last_of_group() const {
        return max(last(), own_ + group_.warps() - 1 - group_.place());
    }

    __device__ __forceinline__ std::uint32_t keys(std::uint32_t round, std::uint32_t step_of_round) const {
        return shared_ + step_of_round * warp_bytes + round % 2 * step_bytes;
    }

    __device__ __forceinline__ void load_queries() {
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 16; ++k) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint32_t row = min(tile_.query + lane_ / 4 + i % 2 * 8, tile_.rows - 1);
                query_[k][i] = *reinterpret_cast<const std::uint32_t*>(queries_ + std::size_t{row} * attention_.stride +
                                                                       16 * k + i / 2 * 8 + lane_ % 4 * 2);
            }
        }
    }

    /// Copies this warp's step of a round.
    __device__ __forceinline__ void copy(std::uint32_t round) const {
        const std::uint32_t step = round * group_.warps() + group_.place();
        if (step <= last_of_group()) {
            copy_step(step, keys(round, group_.place()));
        }
        ptx::commit_copies();
    }

    /// Keys and values beyond the prompt are zero: what they weigh is, too, but not what they might hold.
    __device__ __forceinline__ void copy_step(std::uint32_t step, std::uint32_t to) const {
        constexpr std::uint32_t row_pieces = head_size / 8;
        const std::uint32_t width = attention_.key_heads * head_size;
#pragma unroll
        for (std::uint32_t i = 0; i < 2 * key_rows * row_pieces; i += warp_lanes) {
            const std::uint32_t piece = i + lane_;
            const std::uint32_t matrix = piece / (key_rows * row_pieces);  // keys, values
            const std::uint32_t row = piece / row_pieces % key_rows;
            const std::uint32_t column = piece % row_pieces;
            const bool exists = step * key_rows + row < tile_.rows;
            const std::uint32_t from = exists ? step * key_rows + row : 0;
            ptx::copy_16(to + matrix * matrix_bytes + row * row_bytes + column * 16,
                         keys_ + std::size_t{from} * attention_.stride + matrix * width + column * 8, exists);
        }
    }

    /// Where the tile's own keys are in shared memory: still, in one of the last two rounds, or again.
    __device__ __forceinline__ std::uint32_t own_keys() const {
        if (prefix_ == 0) {
            return keys(own_ / group_.warps(), own_ % group_.warps());
        }
        group_.wait();  // all of the last round are read
        copy_step(own_, keys(0, group_.place()));
        ptx::commit_copies();
        ptx::wait_for_copies<0>();
        __syncwarp();
        return keys(0, group_.place());
    }

    /// Adds the steps from `begin` to `end`, the first of which is at `at`.
    __device__ __forceinline__ void add_steps(std::uint32_t at, std::uint32_t begin, std::uint32_t end) {
        std::uint32_t step = begin;
        for (; step + 1 < end; step += 2) {  // the second one's scores while the first one's weights are computed
            float first[2][4];
            float second[2][4];
            multiply_keys(at, first);
            multiply_keys(at + warp_bytes, second);
            add(first, at + matrix_bytes, step);
            add(second, at + warp_bytes + matrix_bytes, step + 1);
            at += 2 * warp_bytes;
        }
        if (step < end) {
            float scores[2][4];
            multiply_keys(at, scores);
            add(scores, at + matrix_bytes, step);
        }
    }

    /// Adds a step's values by the weights of its scores.
    __device__ __forceinline__ void add(float (&scores)[2][4], std::uint32_t of_values, std::uint32_t step) {
        if (step >= own_) {
            hide_later(scores, step);
        }
        std::uint32_t weights[4];
        weigh(scores, weights);
#pragma unroll
        for (std::uint32_t j = 0; j < head_size / 8; j += 2) {
            std::uint32_t two[4];
            load_matrices_across(two, of_values + lane_ % 16 * row_bytes + j * 16 + lane_ / 16 * 16);
            mma::multiply<precision_of<T>>(mixed_[j], weights, two[0], two[1]);
            mma::multiply<precision_of<T>>(mixed_[j + 1], weights, two[2], two[3]);
        }
    }

    /// Scores of keys 0 to 7, and of 8 to 15.
    __device__ __forceinline__ void multiply_keys(std::uint32_t of_keys, float (&scores)[2][4]) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            scores[0][i] = 0;
            scores[1][i] = 0;
        }
        const std::uint32_t row = of_keys + (lane_ % 8 + lane_ / 16 * 8) * row_bytes + lane_ / 8 % 2 * 16;
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 16; ++k) {
            std::uint32_t key[4];
            mma::load_matrices(key, row + k * 32);
            mma::multiply<precision_of<T>>(scores[0], query_[k], key[0], key[1]);
            mma::multiply<precision_of<T>>(scores[1], query_[k], key[2], key[3]);
        }
    }

    /// Of the keys beside a tile's own queries, and of later ones, each sees those up to it, and the prefix.
    __device__ __forceinline__ void hide_later(float (&scores)[2][4], std::uint32_t step) const {
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint32_t query = tile_.query + lane_ / 4 + i / 2 * 8;
                const std::uint32_t key = step * key_rows + half * 8 + lane_ % 4 * 2 + i % 2;
                scores[half][i] = key < max(query + 1, prefix_) ? scores[half][i] : -INFINITY;
            }
        }
    }

    /// Relative to a score that is about the largest so far: as long as none is more than 2^8 times as likely, what was
    /// mixed keeps its scale.
    __device__ __forceinline__ void weigh(const float (&scores)[2][4], std::uint32_t (&weights)[4]) {
        float kept[2];
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            float largest =
                fmaxf(fmaxf(scores[0][2 * i], scores[0][2 * i + 1]), fmaxf(scores[1][2 * i], scores[1][2 * i + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(every_lane, largest, 2));
            const bool grows = largest > largest_[i] + spare_;
            const float reference = grows ? largest : largest_[i];
            const float below = -reference * scale_;
            kept[i] = grows ? ptx::exp2_about(fmaf(largest_[i], scale_, below)) : 1;
            largest_[i] = reference;
            float of[4];
            float sum = 0;
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                of[j] = ptx::exp2_about(fmaf(scores[j / 2][2 * i + j % 2], scale_, below));
                sum += of[j];
            }
            sums_[i] = fmaf(sums_[i], kept[i], sum);
            weights[i] = values::pack<T>(of[0], of[1]);
            weights[2 + i] = values::pack<T>(of[2], of[3]);
        }
        if (__any_sync(every_lane, kept[0] != 1 || kept[1] != 1)) {
#pragma unroll
            for (auto& each : mixed_) {
#pragma unroll
                for (std::uint32_t i = 0; i < 4; ++i) {
                    each[i] *= kept[i / 2];
                }
            }
        }
    }

    const Attention& attention_;
    const PromptGroup& group_;
    const Tile& tile_;
    const T* queries_;
    const T* keys_;
    std::uint32_t shared_;
    std::uint32_t lane_;
    std::uint32_t own_;  // step
    std::uint32_t prefix_;
    float scale_;  // for powers of 2
    float spare_;
    std::uint32_t query_[head_size / 16][4];
    float mixed_[head_size / 8][4] = {};
    float largest_[2] = {-INFINITY, -INFINITY};
    float sums_[2] = {0, 0};  // until the end of the lane's keys
};

}  // namespace sluice::decoder

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/matrices.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/values.cuh"

/// Products by a warp of 16 queries of a head: with 16 keys, and of weights with 16 values. Lane l has rows l / 4 and
/// l / 4 + 8 of what is computed. Keys and values are in shared memory, a row every `row_bytes`.
namespace sluice::decoder {

constexpr std::uint32_t key_rows = 16;  // of a step
static_assert(tile_queries == key_rows && page_positions == key_rows, "a tile's own keys are those of a page");

/// Of queries to 8 keys, and to 8 more: lane l has [n][2 i + j] of row l / 4 + 8 i, key 8 n + 2 (l % 4) + j.
using Scores = float[2][4];

/// A row's bytes in shared memory: eight rows meet no bank twice.
template <class T, std::uint32_t head_size>
constexpr std::uint32_t padded_row_bytes = head_size * sizeof(T) + 16;

/// The operands of key_rows keys, from the 32 bytes at `at` of each: two words for the first eight, then for the
/// others.
template <std::uint32_t row_bytes>
__device__ __forceinline__ void load_keys(std::uint32_t (&to)[4], std::uint32_t keys, std::uint32_t at) {
    const std::uint32_t lane = threadIdx.x % warp_lanes;
    mma::load_matrices(to, keys + (lane % 8 + lane / 16 * 8) * row_bytes + lane / 8 % 2 * 16 + at);
}

/// In bf16 and fp16.
template <Precision precision, std::uint32_t head_size>
class PromptProducts {
public:
    using Value = values::Narrow<precision>;
    static constexpr std::uint32_t row_bytes = padded_row_bytes<Value, head_size>;
    static constexpr std::uint32_t query_pieces = head_size * sizeof(Value) / 32;

    /// Word l % 4 + 4 (i / 2) of piece k, 32 bytes, of query l / 4 + 8 (i % 2).
    __device__ __forceinline__ void set_query(std::uint32_t k, std::uint32_t i, std::uint32_t word) {
        query_[k][i] = word;
    }

    __device__ __forceinline__ void multiply_keys(std::uint32_t keys, Scores& scores) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            scores[0][i] = 0;
            scores[1][i] = 0;
        }
#pragma unroll
        for (std::uint32_t k = 0; k < query_pieces; ++k) {
            std::uint32_t key[4];
            load_keys<row_bytes>(key, keys, k * 32);
            mma::multiply<precision>(scores[0], query_[k], key[0], key[1]);
            mma::multiply<precision>(scores[1], query_[k], key[2], key[3]);
        }
    }

    /// `weights`: in place of scores.
    __device__ __forceinline__ void add_values(const Scores& weights, std::uint32_t of_values) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t packed[4] = {
            values::pack<Value>(weights[0][0], weights[0][1]), values::pack<Value>(weights[0][2], weights[0][3]),
            values::pack<Value>(weights[1][0], weights[1][1]), values::pack<Value>(weights[1][2], weights[1][3])};
#pragma unroll
        for (std::uint32_t j = 0; j < head_size / 8; j += 2) {
            std::uint32_t two[4];
            load_matrices_across(two, of_values + lane % 16 * row_bytes + j * 16 + lane / 16 * 16);
            mma::multiply<precision>(mixed_[j], packed, two[0], two[1]);
            mma::multiply<precision>(mixed_[j + 1], packed, two[2], two[3]);
        }
    }

    /// What was added so far, by a factor for each of the lane's two rows.
    __device__ __forceinline__ void scale(const float (&by)[2]) {
#pragma unroll
        for (auto& each : mixed_) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                each[i] *= by[i / 2];
            }
        }
    }

    /// What was added, divided by `sum`, of the lane's i-th row: as values from `at` on of `row`, of `stride` values.
    __device__ __forceinline__ void store(std::uint32_t i, float sum, Value* row, std::uint32_t at,
                                          std::uint32_t /*stride*/) const {
        Value* const to = row + at + threadIdx.x % 4 * 2;
#pragma unroll
        for (std::uint32_t j = 0; j < head_size / 8; ++j) {
            *reinterpret_cast<std::uint32_t*>(to + 8 * j) =
                values::pack<Value>(mixed_[j][2 * i] / sum, mixed_[j][2 * i + 1] / sum);
        }
    }

private:
    std::uint32_t query_[query_pieces][4];
    float mixed_[head_size / 8][4] = {};  // of 8 values each
};

/// An operand in tf32, or in two parts whose products are added: first by first, and either by the other's rest.
template <Kept kept>
struct FloatOperand {
    static constexpr bool in_parts = kept == Kept::half_parts;

    __device__ __forceinline__ void set(float value) {
        if constexpr (in_parts) {
            const float2 parts = values::split_tf32(value);
            first = __float_as_uint(parts.x);
            rest = __float_as_uint(parts.y);
        } else {
            first = __float_as_uint(values::round_tf32(value));
        }
    }

    std::uint32_t first;
    std::uint32_t rest;
};

/// In tf32, or by three products in tf32, with results in the format of a product's input.
template <Kept kept, std::uint32_t head_size>
class FloatPromptProducts {
    using Operand = FloatOperand<kept>;

public:
    using Value = float;
    static constexpr std::uint32_t row_bytes = padded_row_bytes<float, head_size>;
    static constexpr std::uint32_t query_pieces = head_size / 8;

    __device__ __forceinline__ void set_query(std::uint32_t k, std::uint32_t i, std::uint32_t word) {
        query_[k][i].set(__uint_as_float(word));
    }

    __device__ __forceinline__ void multiply_keys(std::uint32_t keys, Scores& scores) const {
        Scores rests;
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            scores[0][i] = 0;
            scores[1][i] = 0;
            rests[0][i] = 0;
            rests[1][i] = 0;
        }
#pragma unroll
        for (std::uint32_t k = 0; k < query_pieces; ++k) {
            std::uint32_t words[4];
            load_keys<row_bytes>(words, keys, k * 32);
            Operand key[4];
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                key[i].set(__uint_as_float(words[i]));
            }
            multiply(scores[0], rests[0], query_[k], key[0], key[1]);
            multiply(scores[1], rests[1], query_[k], key[2], key[3]);
        }
        if constexpr (Operand::in_parts) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                scores[0][i] += rests[0][i];
                scores[1][i] += rests[1][i];
            }
        }
    }

    /// Row k of a product's right operand is the key whose weights the lanes of column k of the left one have; column n
    /// of mixed_[4 g + c] is value 32 g + 4 n + c. So a lane loads 16 bytes of a value, and stores them.
    __device__ __forceinline__ void add_values(const Scores& weights, std::uint32_t of_values) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        Operand weight[2][4];
#pragma unroll
        for (std::uint32_t n = 0; n < 2; ++n) {
            weight[n][0].set(weights[n][0]);
            weight[n][1].set(weights[n][2]);
            weight[n][2].set(weights[n][1]);
            weight[n][3].set(weights[n][3]);
        }
        const std::uint32_t at = of_values + lane % 4 * (2 * row_bytes) + lane / 4 * 16;
#pragma unroll
        for (std::uint32_t g = 0; g < head_size / 32; ++g) {
            float of_keys[4][4];
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                values::unpack(ptx::load_shared_16(at + (i / 2 * 8 + i % 2) * row_bytes + g * 128), of_keys[i],
                               float{});
            }
#pragma unroll
            for (std::uint32_t c = 0; c < 4; ++c) {
                Operand value[4];
#pragma unroll
                for (std::uint32_t i = 0; i < 4; ++i) {
                    value[i].set(of_keys[i][c]);
                }
                add_product(mixed_[4 * g + c], weight, value);
            }
        }
    }

    __device__ __forceinline__ void scale(const float (&by)[2]) {
#pragma unroll
        for (auto& each : mixed_) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                each[i] *= by[i / 2];
            }
        }
    }

    __device__ __forceinline__ void store(std::uint32_t i, float sum, float* row, std::uint32_t at,
                                          std::uint32_t stride) const {
#pragma unroll
        for (std::uint32_t g = 0; g < head_size / 32; ++g) {
#pragma unroll
            for (std::uint32_t j = 0; j < 2; ++j) {
                float out[4];
#pragma unroll
                for (std::uint32_t c = 0; c < 4; ++c) {
                    out[c] = __fdividef(mixed_[4 * g + c][2 * i + j], sum);
                }
                keep_4<kept>(row, stride, at + 32 * g + threadIdx.x % 4 * 8 + 4 * j, out);
            }
        }
    }

private:
    __device__ __forceinline__ static void multiply(float (&sums)[4], float (&rests)[4], const Operand (&a)[4],
                                                    const Operand& low, const Operand& high) {
        const std::uint32_t firsts[4] = {a[0].first, a[1].first, a[2].first, a[3].first};
        if constexpr (Operand::in_parts) {
            const std::uint32_t others[4] = {a[0].rest, a[1].rest, a[2].rest, a[3].rest};
            mma::multiply<Precision::tf32>(rests, others, low.first, high.first);
            mma::multiply<Precision::tf32>(rests, firsts, low.rest, high.rest);
        }
        mma::multiply<Precision::tf32>(sums, firsts, low.first, high.first);
    }

    /// In parts a step's products are added by an addition that rounds: those of a product are cut off below the last
    /// bit of the largest.
    __device__ __forceinline__ static void add_product(float (&sums)[4], const Operand (&a)[2][4],
                                                       const Operand (&b)[4]) {
        if constexpr (Operand::in_parts) {
            float product[4] = {};
            float rests[4] = {};
            multiply(product, rests, a[0], b[0], b[1]);
            multiply(product, rests, a[1], b[2], b[3]);
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                sums[i] += product[i] + rests[i];
            }
        } else {
            multiply(sums, sums, a[0], b[0], b[1]);
            multiply(sums, sums, a[1], b[2], b[3]);
        }
    }

    Operand query_[query_pieces][4];
    float mixed_[head_size / 8][4] = {};
};

template <std::uint32_t head_size>
class PromptProducts<Precision::tf32, head_size> : public FloatPromptProducts<Kept::tf32, head_size> {};
template <std::uint32_t head_size>
class PromptProducts<Precision::tf32x3, head_size> : public FloatPromptProducts<Kept::half_parts, head_size> {};

}  // namespace sluice::decoder

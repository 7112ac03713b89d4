#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/decoder/prompts/prompt_products.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/half_values.hpp"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

/// PromptProducts of rows in fp32. A lane reads 16 bytes of a key's values: one for each of mixed_[4 g] to mixed_[4 g +
/// 3]. So that it also stores 16 bytes, column n of mixed_[4 g + d] is value 32 g + 16 (n % 2) + 4 (n / 2) + d.
/// Likewise column n of scores is key n / 2 + 4 (n % 2) of eight: so neither load of a lane's rows meets a bank twice.
namespace sluice::decoder {

/// The same of both.
template <std::uint32_t head_size>
class FloatPromptRows {
public:
    using Value = float;
    static constexpr std::uint32_t row_bytes = head_size * sizeof(float);

    [[nodiscard]] __device__ __forceinline__ static std::uint32_t key_of(std::uint32_t n, std::uint32_t j) {
        return 8 * n + threadIdx.x % 4 + 4 * j;
    }

protected:
    /// Of eight keys, the one whose scores a product has in column n.
    [[nodiscard]] __device__ __forceinline__ static std::uint32_t key_of_column(std::uint32_t n) {
        return n / 2 + n % 2 * 4;
    }

    /// Of the 16 keys that the lane weighs in scores [i / 2][i % 2]: values of mixed_[4 g] to mixed_[4 g + 3].
    __device__ __forceinline__ static void load_values(float (&to)[4][4], std::uint32_t rows, std::uint32_t g) {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t piece = 8 * g + lane / 8 + lane / 4 % 2 * 4;
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            values::unpack(ptx::load_shared_16(rows + piece_at<row_bytes>(lane % 4 + 4 * i, piece)), to[i], float{});
        }
    }

    template <Kept kept>
    __device__ __forceinline__ static void store(const float (&mixed)[head_size / 8][4], bool exists, std::uint32_t i,
                                                 float factor, float* row, std::uint32_t at, std::uint32_t stride) {
        if (!exists) {
            return;
        }
#pragma unroll
        for (std::uint32_t g = 0; g < head_size / 32; ++g) {
#pragma unroll
            for (std::uint32_t j = 0; j < 2; ++j) {
                float out[4];
#pragma unroll
                for (std::uint32_t d = 0; d < 4; ++d) {
                    out[d] = __fmul_rn(mixed[4 * g + d][2 * i + j], factor);
                }
                keep_4<kept>(row, stride, at + 32 * g + 16 * j + threadIdx.x % 4 * 4, out);
            }
        }
    }
};

/// In tf32.
template <std::uint32_t head_size>
class PromptProducts<Precision::tf32, head_size> : public FloatPromptRows<head_size> {
    using Rows = FloatPromptRows<head_size>;

public:
    __device__ __forceinline__ void load_queries(const float* first, const float* second) {
        for_each_word<float, head_size>(first, second, [&](std::uint32_t k, std::uint32_t i, std::uint32_t word) {
            query_[k][i] = rounded(__uint_as_float(word));
        });
    }

    __device__ __forceinline__ void multiply_keys(std::uint32_t keys, Scores& scores) const {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            scores[0][i] = 0;
            scores[1][i] = 0;
        }
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t row = Rows::key_of_column(lane % 8) + lane / 16 * 8;
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 8; ++k) {
            std::uint32_t key[4];
            mma::load_matrices(key, keys + piece_at<Rows::row_bytes>(row, 2 * k + lane / 8 % 2));
#pragma unroll
            for (std::uint32_t& value : key) {
                value = rounded(__uint_as_float(value));
            }
            mma::multiply<Precision::tf32>(scores[0], query_[k], key[0], key[1]);
            mma::multiply<Precision::tf32>(scores[1], query_[k], key[2], key[3]);
        }
    }

    /// A left operand's columns k and k + 4 are the keys that lane k has weights of.
    __device__ __forceinline__ void add_values(const Scores& weights, std::uint32_t rows) {
        std::uint32_t weight[2][4];
#pragma unroll
        for (std::uint32_t n = 0; n < 2; ++n) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                weight[n][i] = rounded(weights[n][i % 2 * 2 + i / 2]);
            }
        }
#pragma unroll
        for (std::uint32_t g = 0; g < head_size / 32; ++g) {
            float value[4][4];
            Rows::load_values(value, rows, g);
#pragma unroll
            for (std::uint32_t d = 0; d < 4; ++d) {
#pragma unroll
                for (std::uint32_t n = 0; n < 2; ++n) {
                    mma::multiply<Precision::tf32>(mixed_[4 * g + d], weight[n], rounded(value[2 * n][d]),
                                                   rounded(value[2 * n + 1][d]));
                }
            }
        }
    }

    __device__ __forceinline__ void scale(const float (&by)[2]) {
        scale_rows(mixed_, by);
    }

    __device__ __forceinline__ void store(bool exists, std::uint32_t i, float factor, float* row, std::uint32_t at,
                                          std::uint32_t stride) const {
        Rows::template store<Kept::tf32>(mixed_, exists, i, factor, row, at, stride);
    }

private:
    __device__ __forceinline__ static std::uint32_t rounded(float value) {
        return __float_as_uint(values::round_tf32(value));
    }

    std::uint32_t query_[head_size / 8][4];
    float mixed_[head_size / 8][4] = {};
};

/// By three products in fp16: values are in two parts (half_values.hpp), whose firsts are multiplied, and
/// each part's firsts with the other's rests, in sums of their own. A product cuts what it adds off below the last bit
/// of the largest: that of a few products of one head does not matter, but what all keys add to is rounded.
template <Kept kept, std::uint32_t head_size>
class HalfPartProducts : public FloatPromptRows<head_size> {
    using Rows = FloatPromptRows<head_size>;

public:
    /// In each 16 values a left operand's columns 2 c, 2 c + 1, 2 c + 8 and 2 c + 9 are values 4 c to 4 c + 3.
    __device__ __forceinline__ void load_queries(const float* first, const float* second) {
        const float* const rows[] = {first, second};
#pragma unroll
        for (std::uint32_t k = 0; k < head_size / 16; ++k) {
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                float four[4];
                load_4(rows[i] + 16 * k + threadIdx.x % 4 * 4, four);
#pragma unroll
                for (std::uint32_t j = 0; j < 2; ++j) {
                    const values::HalfParts parts = values::split_half(four[2 * j], four[2 * j + 1]);
                    query_.firsts[k][2 * j + i] = parts.firsts;
                    query_.rests[k][2 * j + i] = parts.rests;
                }
            }
        }
    }

    __device__ __forceinline__ void multiply_keys(std::uint32_t keys, Scores& scores) const {
        const std::uint32_t lane = threadIdx.x % warp_lanes;
        const std::uint32_t row = Rows::key_of_column(lane / 4);
#pragma unroll
        for (std::uint32_t n = 0; n < 2; ++n) {
            float rests[4] = {};
#pragma unroll
            for (float& score : scores[n]) {
                score = 0;
            }
#pragma unroll
            for (std::uint32_t k = 0; k < head_size / 16; ++k) {
                float key[4];
                values::unpack(ptx::load_shared_16(keys + piece_at<Rows::row_bytes>(8 * n + row, 4 * k + lane % 4)),
                               key, float{});
                multiply(scores[n], rests, query_.firsts[k], query_.rests[k], values::split_half(key[0], key[1]),
                         values::split_half(key[2], key[3]));
            }
            add_rests(scores[n], rests);
        }
    }

    __device__ __forceinline__ void add_values(const Scores& weights, std::uint32_t rows) {
        std::uint32_t firsts[4];
        std::uint32_t rests[4];
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            const values::HalfParts parts =
                values::split_half(weights[i / 2][i % 2 * 2], weights[i / 2][i % 2 * 2 + 1]);
            firsts[i] = parts.firsts;
            rests[i] = parts.rests;
        }
#pragma unroll
        for (std::uint32_t g = 0; g < head_size / 32; ++g) {
            float value[4][4];
            Rows::load_values(value, rows, g);
#pragma unroll
            for (std::uint32_t d = 0; d < 4; ++d) {
                float sums[4] = {};
                float others[4] = {};
                multiply(sums, others, firsts, rests, values::split_half(value[0][d], value[1][d]),
                         values::split_half(value[2][d], value[3][d]));
                add_rests(sums, others);
#pragma unroll
                for (std::uint32_t i = 0; i < 4; ++i) {
                    mixed_[4 * g + d][i] = __fadd_rn(mixed_[4 * g + d][i], sums[i]);
                }
            }
        }
    }

    __device__ __forceinline__ void scale(const float (&by)[2]) {
        scale_rows(mixed_, by);
    }

    __device__ __forceinline__ void store(bool exists, std::uint32_t i, float factor, float* row, std::uint32_t at,
                                          std::uint32_t stride) const {
        Rows::template store<kept>(mixed_, exists, i, factor, row, at, stride);
    }

private:
    __device__ __forceinline__ static void multiply(float (&sums)[4], float (&others)[4],
                                                    const std::uint32_t (&firsts)[4], const std::uint32_t (&rests)[4],
                                                    const values::HalfParts& low, const values::HalfParts& high) {
        mma::multiply<Precision::fp16>(sums, firsts, low.firsts, high.firsts);
        mma::multiply<Precision::fp16>(others, rests, low.firsts, high.firsts);
        mma::multiply<Precision::fp16>(others, firsts, low.rests, high.rests);
    }

    __device__ __forceinline__ static void add_rests(float (&sums)[4], const float (&rests)[4]) {
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
            sums[i] = fmaf(rests[i], 1 / half_rest_scale, sums[i]);
        }
    }

    struct {
        std::uint32_t firsts[head_size / 16][4];
        std::uint32_t rests[head_size / 16][4];
    } query_;
    float mixed_[head_size / 8][4] = {};
};

template <std::uint32_t head_size>
class PromptProducts<Precision::tf32x3, head_size> : public HalfPartProducts<Kept::half_parts, head_size> {};

template <std::uint32_t head_size>
class PromptProducts<Precision::fp16x2, head_size> : public HalfPartProducts<Kept::half_codes, head_size> {};

}  // namespace sluice::decoder

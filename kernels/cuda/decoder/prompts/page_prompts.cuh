#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/decoder/prompts/prompt_products.cuh"
#include "kernels/cuda/decoder/prompts/prompt_weights.cuh"
#include "kernels/cuda/gemm/box.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/values.cuh"
#include "kernels/cuda/primitives/wgmma.cuh"
#include "kernels/cuda/primitives/wgmma_registers.cuh"

/// Causal attention, in a head of 64, to prompts of page_positions tokens. A warp has a prompt's queries in registers,
/// where box.cuh says, and puts results in their places; keys and values are in boxes. The bits are PromptTile's.
namespace sluice::decoder {

constexpr std::uint32_t page_head_size = gemm::box_columns;
static_assert(gemm::box_rows == page_positions);

/// A lane's values of a box.
using BoxWords = std::uint32_t[page_head_size / 8][2];

/// Of a lane's two queries, from their scores of the prompt's keys.
class PageWeights {
public:
    /// Turns scores into weights. All lanes call.
    __device__ __forceinline__ void weigh(Scores& scores, float scale) {
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint32_t query = threadIdx.x % warp_lanes / 4 + i / 2 * 8;
                const std::uint32_t key = half * 8 + threadIdx.x % 4 * 2 + i % 2;
                scores[half][i] = key <= query ? scores[half][i] : -INFINITY;
            }
        }
        PromptWeights weights(scale);
        float kept[2];  // of nothing
        weights.weigh(scores, kept);
        weights.add_up();
        factors_[0] = weights.factor(0);
        factors_[1] = weights.factor(1);
    }

    /// The results, from sums of weighted values.
    template <Precision precision>
    __device__ __forceinline__ void divide(const float (&sums)[page_head_size / 2], BoxWords& results) const {
#pragma unroll
        for (std::uint32_t j = 0; j < page_head_size / 8; ++j) {
#pragma unroll
            for (std::uint32_t i = 0; i < 2; ++i) {
                results[j][i] = values::pack<values::Narrow<precision>>(sums[4 * j + 2 * i] * factors_[i],
                                                                        sums[4 * j + 2 * i + 1] * factors_[i]);
            }
        }
    }

private:
    float factors_[2];
};

/// By one warp. `key_box`, `value_box`: addresses. All lanes call.
template <Precision precision>
__device__ __forceinline__ void attend_in_warp(BoxWords& queries, std::uint32_t key_box, std::uint32_t value_box,
                                               float scale) {
    PromptProducts<precision, page_head_size> products;
    products.take_queries([&](std::uint32_t j, std::uint32_t i) { return queries[j][i]; });
    Scores scores;
    products.multiply_keys(key_box, scores);
    PageWeights weights;
    weights.weigh(scores, scale);
    products.add_values(scores, value_box);
    weights.template divide<precision>(products.mixed(), queries);
}

/// By a warpgroup, of `count` prompts of each of its warps. The products are by wgmma, as those by mma.sync wait for as
/// long as another warpgroup multiplies: a warp's queries times the keys of all four warps, of which its own count, and
/// its weights, zeros for the other warps' keys, times all values, which are finite.
template <Precision precision, std::uint32_t count>
class WarpgroupPrompts {
    using Type = values::Narrow<precision>;
    using Sums = float[page_head_size / 2];

public:
    /// `exists(i)`: whether the warp's i-th rows are a prompt; otherwise its queries stay. `key_boxes(i)`: address of
    /// the boxes of the warps' i-th keys, one behind the other; `value_boxes(i)` likewise. All threads of the warpgroup
    /// call. On return other warps may still read the boxes.
    template <class Exists, class KeyBoxes, class ValueBoxes>
    __device__ __forceinline__ static void attend(BoxWords (&queries)[count], const Exists& exists,
                                                  const KeyBoxes& key_boxes, const ValueBoxes& value_boxes,
                                                  float scale) {
        Sums scores[count] = {};
#pragma unroll
        for (std::uint32_t i = 0; i < count; ++i) {
            multiply_keys(queries[i], key_boxes(i), scores[i]);
        }
        Sums mixed[count] = {};
        PageWeights weights[count];
#pragma unroll
        for (std::uint32_t i = 0; i < count; ++i) {
            wgmma::wait<1>();
            wgmma::order(scores[i]);
            Scores own;
            take_own(scores[i], own);
            weights[i].weigh(own, scale);
            add_values(own, value_boxes(i), mixed[i]);
        }
#pragma unroll
        for (std::uint32_t i = 0; i < count; ++i) {
            if (i + 1 < count) {
                wgmma::wait<1>();
            } else {
                wgmma::wait<0>();
            }
            wgmma::order(mixed[i]);
            if (exists(i)) {
                weights[i].template divide<precision>(mixed[i], queries[i]);
            }
        }
    }

private:
    static_assert(count == 2, "waits for all but one");

    /// The warp's number in its warpgroup; the compiler then knows that all lanes have the same.
    [[nodiscard]] __device__ __forceinline__ static std::uint32_t warp() {
        return __shfl_sync(every_lane, threadIdx.x % gemm::warpgroup_threads / warp_lanes, 0);
    }

    __device__ __forceinline__ static void multiply_keys(const BoxWords& queries, std::uint32_t boxes, Sums& scores) {
        wgmma::order(scores);
        wgmma::fence();
#pragma unroll
        for (std::uint32_t k = 0; k < page_head_size / 16; ++k) {
            const std::uint32_t words[4] = {queries[2 * k][0], queries[2 * k][1], queries[2 * k + 1][0],
                                            queries[2 * k + 1][1]};
            wgmma::multiply_registers<Type, false>(scores, words, wgmma::matrix(boxes) + wgmma::advance(32 * k), true);
        }
        wgmma::commit();
    }

    /// The scores of the warp's own keys.
    __device__ __forceinline__ static void take_own(const Sums& scores, Scores& own) {
        const std::uint32_t number = warp();
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                own[half][i] = scores[4 * half + i];
#pragma unroll
                for (std::uint32_t w = 1; w < gemm::warps_per_warpgroup; ++w) {
                    own[half][i] = number == w ? scores[8 * w + 4 * half + i] : own[half][i];
                }
            }
        }
    }

    __device__ __forceinline__ static void add_values(const Scores& weights, std::uint32_t boxes, Sums& mixed) {
        const std::uint32_t packed[4] = {
            values::pack<Type>(weights[0][0], weights[0][1]), values::pack<Type>(weights[0][2], weights[0][3]),
            values::pack<Type>(weights[1][0], weights[1][1]), values::pack<Type>(weights[1][2], weights[1][3])};
        const std::uint32_t number = warp();
        std::uint32_t words[gemm::warps_per_warpgroup][4];
#pragma unroll
        for (std::uint32_t w = 0; w < gemm::warps_per_warpgroup; ++w) {
#pragma unroll
            for (std::uint32_t i = 0; i < 4; ++i) {
                words[w][i] = number == w ? packed[i] : 0;
            }
        }
        wgmma::order(mixed);
        wgmma::fence();
#pragma unroll
        for (std::uint32_t w = 0; w < gemm::warps_per_warpgroup; ++w) {
            wgmma::multiply_registers<Type, true>(mixed, words[w],
                                                  wgmma::matrix(boxes) + wgmma::advance(w * gemm::box_bytes), true);
        }
        wgmma::commit();
    }
};

}  // namespace sluice::decoder

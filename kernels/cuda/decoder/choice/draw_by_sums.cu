#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/error.hpp"
#include "kernels/cuda/decoder/choice/choose.hpp"
#include "kernels/cuda/decoder/choice/cross.cuh"
#include "kernels/cuda/decoder/choice/log_probability.cuh"
#include "kernels/cuda/decoder/plan/texts.cuh"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/arithmetic.cuh"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/half_values.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::decoder {
namespace {

constexpr std::uint32_t draw_threads = 256;
constexpr std::uint32_t draw_warps = draw_threads / warp_lanes;
constexpr std::uint32_t warp_tokens = group_tokens / draw_warps;  // whose scores a warp computes
constexpr std::uint32_t most_draw_blocks = 8 * hopper_multiprocessors;

extern __shared__ unsigned long long weights_of_sums[];

// Values in parts: see half_values.hpp.
struct HalfParts {};
struct HalfCodes {};

enum class Operand : std::uint8_t { row, weights };

/// Reads 8 values of a row of the head's operands.
template <class T, Operand operand>
__device__ __forceinline__ void load_operand(const void* rows, std::uint32_t row, std::uint32_t depth, std::uint32_t at,
                                             float (&to)[8]) {
    if constexpr (std::is_same_v<T, HalfParts>) {
        const __half* const firsts = static_cast<const __half*>(rows) + std::size_t{row} * 2 * depth + at;
        float rests[8];
        load_8(firsts, to);
        load_8(firsts + depth, rests);
#pragma unroll
        for (std::uint32_t i = 0; i < 8; ++i) {
            to[i] += rests[i] * (1 / half_rest_scale);
        }
    } else if constexpr (std::is_same_v<T, HalfCodes>) {
        constexpr bool is_row = operand == Operand::row;
        const __half* const firsts = static_cast<const __half*>(rows) + std::size_t{row} * 2 * depth;
        const auto* const codes = reinterpret_cast<const std::uint8_t*>(firsts + depth) + (is_row ? depth : 0);
        float rests[8];
        load_8(firsts + at, to);
        values::unpack_e4m3(*reinterpret_cast<const uint2*>(codes + at), rests);
#pragma unroll
        for (std::uint32_t i = 0; i < 8; ++i) {
            to[i] += rests[i] * (1 / (is_row ? half_rest_scale : half_rest_scale * half_code_scale));
        }
    } else {
        load_8(static_cast<const T*>(rows) + std::size_t{row} * depth + at, to);
    }
}

/// The scores of warp_tokens tokens from `first` on, in every lane; beyond the vocabulary those of its last token.
/// Called by all lanes of a warp.
template <class T>
__device__ void find_scores(const HeadOperands& head, std::uint32_t row, std::uint32_t first,
                            float (&scores)[warp_tokens]) {
    for (float& score : scores) {
        score = 0;
    }
    for (std::uint32_t at = threadIdx.x % warp_lanes * 8; at < head.depth; at += warp_lanes * 8) {
        float hidden[8];
        load_operand<T, Operand::row>(head.rows, row, head.depth, at, hidden);
#pragma unroll
        for (std::uint32_t i = 0; i < warp_tokens; ++i) {
            float weights[8];
            load_operand<T, Operand::weights>(head.weights, min(first + i, head.vocabulary - 1), head.depth, at,
                                              weights);
#pragma unroll
            for (std::uint32_t j = 0; j < 8; ++j) {
                scores[i] = fmaf(hidden[j], weights[j], scores[i]);
            }
        }
    }
#pragma unroll
    for (float& score : scores) {
        score = sum_of_warp(score);
    }
}

/// A row's draw. All threads of a block call its functions.
class RowDraw {
public:
    struct Shared {
        float largest[draw_warps];
        float scores[group_tokens];
        Crossed sum;
        float best;  // score of the row
        unsigned long long all;
        unsigned long long wanted;
        unsigned long long plain[draw_warps];  // weights at a temperature of 1
    };

    /// `plain_sums`: of the row, for log-probabilities; null: its sums are plain, or there are none.
    __device__ RowDraw(const Rule& rule, const HeadOperands& head, const float* plain_sums, Shared& shared)
        : rule_(rule), head_(head), plain_sums_(plain_sums), shared_(shared) {}

    /// Draws one of the sums; false: a score is not finite.
    __device__ bool draw_sum(const ScoreSum* sums, float uniform) {
        const std::uint32_t count = groups_of(head_.vocabulary);
        float largest = -INFINITY;
        bool finite = true;
        for (std::uint32_t i = threadIdx.x; i < count; i += draw_threads) {
            largest = fmaxf(largest, sums[i].largest);
            finite = finite && isfinite(sums[i].sum);
        }
        largest = largest_of_warp(largest);
        if (threadIdx.x % warp_lanes == 0) {
            shared_.largest[threadIdx.x / warp_lanes] = largest;
        }
        if (__syncthreads_and(finite ? 1 : 0) == 0) {
            return false;
        }
        for (const float of_warp : shared_.largest) {
            largest = fmaxf(largest, of_warp);
        }
        for (std::uint32_t i = threadIdx.x; i < count; i += draw_threads) {
            weights_of_sums[i] = weight_at(distance(sums[i].largest, largest), sums[i].sum);
        }
        if (plain_sums_ != nullptr) {
            add_up_plain_sums(sums, largest);
        }
        __syncthreads();
        if (threadIdx.x < warp_lanes) {
            unsigned long long all = 0;
            unsigned long long wanted = 0;
            const Crossed sum = cross(
                count, [](std::uint32_t i) { return weights_of_sums[i]; },
                [&](unsigned long long of_all) {
                    all = of_all;
                    wanted = part_of(uniform, all);
                    return wanted;
                });
            if (threadIdx.x == 0) {
                shared_.best = largest;
                shared_.sum = sum;
                shared_.all = all;
                shared_.wanted = wanted;
            }
        }
        __syncthreads();
        return true;
    }

    /// Computes the scores of the drawn sum's tokens again. They are finite, and should they not be again, because they
    /// are added up in another order, do not count.
    template <class T>
    __device__ void find_tokens(std::uint32_t row) {
        const std::uint32_t warp = threadIdx.x / warp_lanes;
        float scores[warp_tokens];
        find_scores<T>(head_, row, first_token() + warp * warp_tokens, scores);
        if (threadIdx.x % warp_lanes == 0) {
#pragma unroll
            for (std::uint32_t i = 0; i < warp_tokens; ++i) {
                shared_.scores[warp * warp_tokens + i] = isfinite(scores[i]) ? scores[i] : weightless;
            }
        }
        __syncthreads();
    }

    /// Draws a token of the sum. Called by the first warp.
    __device__ Chosen draw_token(float uniform) const {
        const std::uint32_t count = min(group_tokens, head_.vocabulary - first_token());
        float largest = -INFINITY;
        for (std::uint32_t i = threadIdx.x; i < count; i += warp_lanes) {
            largest = fmaxf(largest, shared_.scores[i]);
        }
        largest = largest_of_warp(largest);
        const Crossed& sum = shared_.sum;
        unsigned long long of_sum = 0;
        const Crossed token = cross(
            count, [&](std::uint32_t i) { return weight_at(distance(shared_.scores[i], largest), 1); },
            [&](unsigned long long all) {
                of_sum = all;
                const double part = static_cast<double>(shared_.wanted - sum.before) / static_cast<double>(sum.weight);
                return min(__double2ull_rz(part * static_cast<double>(all)), all - 1);
            });
        // What lies before the token, and up to it, as shares of all.
        const auto share = [&](unsigned long long before) {
            const double in_sum = static_cast<double>(before) / static_cast<double>(of_sum);
            return (static_cast<double>(sum.before) + static_cast<double>(sum.weight) * in_sum) /
                   static_cast<double>(shared_.all);
        };
        Chosen chosen{.token = first_token() + token.number,
                      .log_probability = log_probability(shared_.scores[token.number]),
                      .nonfinite = false};
        float& distance = chosen.doubt.doubt.distance;
        const unsigned long long up_to = token.before + token.weight;
        if (up_to != of_sum || sum.before + sum.weight != shared_.all) {
            distance = fmaxf(static_cast<float>(share(up_to) - static_cast<double>(uniform)), 0);
        }
        if (token.before != 0 || sum.before != 0) {
            const auto below = static_cast<float>(static_cast<double>(uniform) - share(token.before));
            distance = fminf(distance, fmaxf(below, 0));
        }
        return chosen;
    }

private:
    /// Distance to the largest score, in units of the temperature.
    [[nodiscard]] __device__ __forceinline__ float distance(float score, float largest) const {
        return __fdiv_rn(__fadd_rn(score, -largest), rule_.temperature);
    }

    __device__ __forceinline__ void add_up_plain_sums(const ScoreSum* sums, float largest) {
        unsigned long long plain = 0;
        for (std::uint32_t i = threadIdx.x; i < groups_of(head_.vocabulary); i += draw_threads) {
            plain += weight_at(__fadd_rn(sums[i].largest, -largest), plain_sums_[i]);
        }
        plain = sum_of_warp(plain);
        if (threadIdx.x % warp_lanes == 0) {
            shared_.plain[threadIdx.x / warp_lanes] = plain;
        }
    }

    /// Of a score, which may be larger than what the product has left as the largest.
    [[nodiscard]] __device__ __forceinline__ float log_probability(float score) const {
        if (!rule_.log_probabilities) {
            return 0;
        }
        unsigned long long all = shared_.all;
        if (plain_sums_ != nullptr) {
            all = 0;
            for (const unsigned long long of_warp : shared_.plain) {
                all += of_warp;
            }
        }
        const double sum = static_cast<double>(all) / static_cast<double>(token_weight_unit);
        const float below_best = fminf(__fadd_rn(score, -shared_.best), 0);
        return static_cast<float>(static_cast<double>(below_best) - ordered::log_of(sum));
    }

    [[nodiscard]] __device__ std::uint32_t first_token() const {
        return shared_.sum.number * group_tokens;
    }

    const Rule& rule_;
    const HeadOperands& head_;
    const float* plain_sums_;
    Shared& shared_;
};

/// One block per entry.
template <class T, bool has_plain_sums>
__global__ void __launch_bounds__(draw_threads, 4)
    draw(Memory memory, Rule rule, const ScoreSum* sums, HeadOperands head, const float* plain_sums) {
    __shared__ RowDraw::Shared shared;
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t entries = memory.batch->entries;
    for (std::uint32_t e = blockIdx.x; e < entries; e += gridDim.x) {
        Text& text = memory.texts[memory.entries[e].slot];
        const float uniform = uniform_of(rule, text);
        const std::size_t first_sum = std::size_t{e} * groups_of(head.vocabulary);
        RowDraw row(rule, head, has_plain_sums ? plain_sums + first_sum : nullptr, shared);
        Chosen chosen{.token = 0, .log_probability = __uint_as_float(nan_bits), .nonfinite = true};
        if (row.draw_sum(sums + first_sum, uniform)) {
            row.find_tokens<T>(e);
            if (threadIdx.x < warp_lanes) {
                chosen = row.draw_token(uniform);
            }
        }
        if (threadIdx.x == 0) {
            append(memory, rule, text, chosen);
        }
        __syncthreads();  // before the next row's, which all threads read
    }
}

/// Of a block, beside RowDraw::Shared.
std::uint32_t weight_bytes(std::uint32_t vocabulary) {
    return static_cast<std::uint32_t>(groups_of(vocabulary) * sizeof(unsigned long long));
}

template <class T>
void enqueue(const Memory& memory, const Rule& rule, const SummedRows& rows, const HeadOperands& head,
             cudaStream_t stream) {
    const std::uint32_t shared = weight_bytes(head.vocabulary);
    const bool takes_plain_sums = rule.log_probabilities && rule.temperature != 1;
    const auto kernel = takes_plain_sums ? &draw<T, true> : &draw<T, false>;
    allow_shared_bytes(kernel, shared);
    launch(kernel, "draw",
           {.blocks = std::min(memory.slots, most_draw_blocks),
            .threads = draw_threads,
            .shared_bytes = shared,
            .chained = true},
           stream, memory, rule, rows.sums, head, rows.plain_sums);
}

}  // namespace

std::uint32_t draw_block_bytes(std::uint32_t vocabulary) {
    return static_cast<std::uint32_t>(sizeof(RowDraw::Shared)) + weight_bytes(vocabulary);
}

void enqueue_draw(const Memory& memory, const Rule& rule, Precision precision, const SummedRows& rows,
                  const HeadOperands& head, cudaStream_t stream) {
    expects(precision != Precision::fp32 && head.depth % 8 == 0, "decoder: a draw by sums of this precision or depth");
    expects(!rule.log_probabilities || rule.temperature == 1 || rows.plain_sums != nullptr,
            "decoder: log-probabilities without plain sums of scores");
    if (precision == Precision::tf32x3) {
        enqueue<HalfParts>(memory, rule, rows, head, stream);
        return;
    }
    if (precision == Precision::fp16x2) {
        enqueue<HalfCodes>(memory, rule, rows, head, stream);
        return;
    }
    with_type_of(precision, [&](auto type) { enqueue<decltype(type)>(memory, rule, rows, head, stream); });
}

}  // namespace sluice::decoder

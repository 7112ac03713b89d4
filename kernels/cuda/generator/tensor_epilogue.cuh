#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/generator/instructions.cuh"
#include "kernels/cuda/generator/tensor_kernel.hpp"
#include "kernels/cuda/values.cuh"
#include "kernels/cuda/wgmma.cuh"

/// What a step's kernel does with its sums.
namespace sluice::generator {

enum class StepPart : std::uint8_t { first, further, scores };

/// How states are kept: in `parts` values that wgmma takes as Type, whose sum they are; and how exactly gates are
/// computed.
struct Bf16Numbers {
    using Type = __nv_bfloat16;
    static constexpr std::uint32_t value_bytes = 2;
    static constexpr std::uint32_t parts = 1;
    static constexpr bool rough = true;  // tanh.approx errs by a quarter of what rounding the state does
};
struct Fp16Numbers {
    using Type = __half;
    static constexpr std::uint32_t value_bytes = 2;
    static constexpr std::uint32_t parts = 1;
    static constexpr bool rough = false;
};
struct Tf32Numbers {
    using Type = wgmma::Tf32;
    static constexpr std::uint32_t value_bytes = 4;
    static constexpr std::uint32_t parts = 1;
    static constexpr bool rough = false;
};
struct TwoPartNumbers {
    using Type = __half;
    static constexpr std::uint32_t value_bytes = 2;
    static constexpr std::uint32_t parts = 2;
    static constexpr bool rough = false;
};

template <bool rough>
__device__ __forceinline__ float fast_sigmoid(float x) {
    if constexpr (rough) {
        return fmaf(0.5F, tanh_about(0.5F * x), 0.5F);
    } else {
        return __fdividef(1.0F, 1.0F + __expf(-x));
    }
}

template <bool rough>
__device__ __forceinline__ float fast_tanh(float x) {
    if constexpr (rough) {
        return tanh_about(x);
    } else {
        return 1.0F - __fdividef(2.0F, 1.0F + __expf(2.0F * x));
    }
}

__device__ __forceinline__ float2 two_at(const float* from) {
    return *reinterpret_cast<const float2*>(from);
}

template <class Type>
__device__ __forceinline__ float2 unpack_two(std::uint32_t word) {
    if constexpr (std::is_same_v<Type, __half>) {
        return __half22float2(*reinterpret_cast<const __half2*>(&word));
    } else {
        return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000U)};
    }
}

/// Two units' states of a row: what `at` and at + part_values hold.
template <class Numbers>
__device__ __forceinline__ float2 load_states(const void* states, std::size_t at, std::size_t part_values) {
    using Type = typename Numbers::Type;
    if constexpr (std::is_same_v<Type, wgmma::Tf32>) {
        return two_at(static_cast<const float*>(states) + at);
    } else {
        const auto* const from = static_cast<const Type*>(states);
        float2 sum = unpack_two<Type>(*reinterpret_cast<const std::uint32_t*>(from + at));
        if constexpr (Numbers::parts == 2) {
            const float2 rest = unpack_two<Type>(*reinterpret_cast<const std::uint32_t*>(from + part_values + at));
            sum.x += rest.x;
            sum.y += rest.y;
        }
        return sum;
    }
}

template <class Numbers>
__device__ __forceinline__ void keep_states(void* states, std::size_t at, std::size_t part_values, float2 value) {
    using Type = typename Numbers::Type;
    if constexpr (std::is_same_v<Type, wgmma::Tf32>) {
        *reinterpret_cast<float2*>(static_cast<float*>(states) + at) = {values::round_tf32(value.x),
                                                                        values::round_tf32(value.y)};
    } else {
        auto* const to = static_cast<Type*>(states);
        const std::uint32_t word = values::pack<Type>(value.x, value.y);
        *reinterpret_cast<std::uint32_t*>(to + at) = word;
        if constexpr (Numbers::parts == 2) {
            const float2 kept = unpack_two<Type>(word);
            *reinterpret_cast<std::uint32_t*>(to + part_values + at) =
                values::pack<Type>(value.x - kept.x, value.y - kept.y);
        }
    }
}

/// r and z are done, but for what they are applied to; n before its tanh is in + r * own.
template <bool rough>
__device__ __forceinline__ float new_state(float r, float z, float in, float own, float before) {
    const float n = fast_tanh<rough>(fmaf(fast_sigmoid<rough>(r), own, in));
    return fmaf(fast_sigmoid<rough>(z), before - n, n);
}

/// Sums of products, of weights that two parts hold scaled.
template <class Numbers>
__device__ __forceinline__ float unscaled(float sum, const TensorArguments& arguments) {
    return Numbers::parts == 2 ? sum * arguments.sum_scale : sum;
}

/// Sums of 64 rows from `row` on, of 64 units from `first_unit` on, 32 sums a thread for each gate: r, z, n of the
/// state; `input_n` where the layer has one below.
template <class Numbers, StepPart part, std::uint32_t count, std::uint32_t input_count>
__device__ __forceinline__ void store_states(const TensorArguments& arguments, const float (&sums)[count],
                                             const float (&input_n)[input_count], std::uint32_t row,
                                             std::uint32_t first_unit) {
    constexpr std::uint32_t z_at = tensor_units / 2;
    constexpr std::uint32_t n_at = 2 * z_at;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t first_row = row + threadIdx.x % gemm::warpgroup_threads / 32 * 16 + lane / 4;
    const std::uint32_t hidden = arguments.hidden;
    const float* tables[2];
#pragma unroll
    for (std::uint32_t half = 0; half < 2; ++half) {
        tables[half] =
            part == StepPart::first
                ? arguments.table + std::size_t{arguments.symbols[first_row + 8 * half]} * arguments.table_stride
                : nullptr;
    }
#pragma unroll
    for (std::uint32_t j = 0; j < tensor_units / 8; ++j) {
        const std::uint32_t unit = first_unit + 8 * j + lane % 4 * 2;
        const float* const bias = arguments.bias + unit;
        const float2 bias_r = two_at(bias);
        const float2 bias_z = two_at(bias + hidden);
        const float2 bias_in = two_at(bias + 2 * hidden);
        const float2 bias_own = two_at(bias + 3 * hidden);
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            const std::size_t at = std::size_t{first_row + 8 * half} * hidden + unit;
            const std::uint32_t i = 4 * j + 2 * half;
            const float2 before = load_states<Numbers>(arguments.before, at, arguments.part_values);
            float2 in_r = bias_r;
            float2 in_z = bias_z;
            float2 in_n = bias_in;
            if constexpr (part == StepPart::first) {
                const float2 r = two_at(tables[half] + unit);
                const float2 z = two_at(tables[half] + hidden + unit);
                const float2 n = two_at(tables[half] + 2 * hidden + unit);
                in_r = {in_r.x + r.x, in_r.y + r.y};
                in_z = {in_z.x + z.x, in_z.y + z.y};
                in_n = {in_n.x + n.x, in_n.y + n.y};
            } else {
                in_n = {in_n.x + unscaled<Numbers>(input_n[i], arguments),
                        in_n.y + unscaled<Numbers>(input_n[i + 1], arguments)};
            }
            const auto sum = [&](std::uint32_t at) { return unscaled<Numbers>(sums[at], arguments); };
            const float2 after{new_state<Numbers::rough>(sum(i) + in_r.x, sum(z_at + i) + in_z.x, in_n.x,
                                                         sum(n_at + i) + bias_own.x, before.x),
                               new_state<Numbers::rough>(sum(i + 1) + in_r.y, sum(z_at + i + 1) + in_z.y, in_n.y,
                                                         sum(n_at + i + 1) + bias_own.y, before.y)};
            keep_states<Numbers>(arguments.after, at, arguments.part_values, after);
        }
    }
}

template <class Numbers, std::uint32_t count>
__device__ __forceinline__ void store_scores(const TensorArguments& arguments, const float (&sums)[count],
                                             std::uint32_t row, std::uint32_t first_column) {
    constexpr std::uint32_t all = 256;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t first_row = row + threadIdx.x % gemm::warpgroup_threads / 32 * 16 + lane / 4;
#pragma unroll
    for (std::uint32_t j = 0; j < count / 4; ++j) {
        const std::uint32_t column = first_column + 8 * j + lane % 4 * 2;
        const float2 bias = two_at(arguments.bias + column);
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
            const std::uint32_t i = 4 * j + 2 * half;
            *reinterpret_cast<float2*>(arguments.scores + std::size_t{first_row + 8 * half} * all + column) = {
                unscaled<Numbers>(sums[i], arguments) + bias.x, unscaled<Numbers>(sums[i + 1], arguments) + bias.y};
        }
    }
}

}  // namespace sluice::generator

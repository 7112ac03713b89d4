#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"
#include "kernels/cuda/primitives/wgmma.cuh"

/// Number formats of a step on the tensor cores.
namespace sluice::generator {

/// Loads 16 bytes. The compiler does not move it, so that it is in flight while the tensor cores work.
__device__ __forceinline__ uint4 load_16(const void* from) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}

/// Formats of a precision. A state is the sum of `parts` values, each Stored and multiplied by wgmma as Type; Table is
/// the type of layer 0's table; `rough`: gates use approximate functions.
struct Bf16Numbers {
    using Type = __nv_bfloat16;
    using Stored = __nv_bfloat16;
    using Table = __half;
    static constexpr std::uint32_t parts = 1;
    static constexpr bool rough = true;  // tanh.approx errs by a quarter of the state's rounding error
};
struct Fp16Numbers {
    using Type = __half;
    using Stored = __half;
    using Table = __half;
    static constexpr std::uint32_t parts = 1;
    static constexpr bool rough = false;
};
struct Tf32Numbers {
    using Type = wgmma::Tf32;
    using Stored = float;
    using Table = float;
    static constexpr std::uint32_t parts = 1;
    static constexpr bool rough = false;
};
struct TwoPartNumbers {
    using Type = __half;
    using Stored = __half;
    using Table = float;
    static constexpr std::uint32_t parts = 2;
    static constexpr bool rough = false;
};

template <bool rough>
__device__ __forceinline__ float fast_sigmoid(float x) {
    if constexpr (rough) {
        return fmaf(0.5F, ptx::tanh_about(0.5F * x), 0.5F);
    } else {
        return __fdividef(1.0F, 1.0F + __expf(-x));
    }
}

template <bool rough>
__device__ __forceinline__ float fast_tanh(float x) {
    if constexpr (rough) {
        return ptx::tanh_about(x);
    } else {
        return 1.0F - __fdividef(2.0F, 1.0F + __expf(2.0F * x));
    }
}

/// Eight adjacent values, aligned to 16 bytes.
template <class Value>
class Eight {
public:
    /// The compiler does not move it, so that loads are in flight while the tensor cores work.
    __device__ __forceinline__ void load(const void* values, std::size_t at) {
        const auto* const from = static_cast<const Value*>(values) + at;
#pragma unroll
        for (std::uint32_t i = 0; i < pieces; ++i) {
            pieces_[i] = load_16(from + i * values_per_piece);
        }
    }
    __device__ __forceinline__ void store(void* values, std::size_t at) const {
        auto* const to = static_cast<Value*>(values) + at;
#pragma unroll
        for (std::uint32_t i = 0; i < pieces; ++i) {
            ptx::store_global_16(to + i * values_per_piece, pieces_[i]);
        }
    }

    [[nodiscard]] __device__ __forceinline__ float get(std::uint32_t i) const {
        if constexpr (std::is_same_v<Value, float>) {
            return __uint_as_float(word(i));
        } else if constexpr (std::is_same_v<Value, __nv_bfloat16>) {
            return __uint_as_float(i % 2 == 0 ? word(i / 2) << 16 : word(i / 2) & 0xffff0000U);
        } else {
            const std::uint32_t two = word(i / 2);
            const float2 values = __half22float2(*reinterpret_cast<const __half2*>(&two));
            return i % 2 == 0 ? values.x : values.y;
        }
    }

    /// Sets values `two` * 2 and the next; floats rounded to tf32.
    __device__ __forceinline__ void set(std::uint32_t two, float low, float high) {
        if constexpr (std::is_same_v<Value, float>) {
            word(2 * two) = __float_as_uint(values::round_tf32(low));
            word(2 * two + 1) = __float_as_uint(values::round_tf32(high));
        } else {
            word(two) = values::pack<Value>(low, high);
        }
    }

private:
    static constexpr std::uint32_t values_per_piece = 16 / sizeof(Value);
    static constexpr std::uint32_t pieces = 8 / values_per_piece;

    // Called with a compile-time constant `i`.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t word(std::uint32_t i) const {
        const uint4& piece = pieces_[i / 4];
        return i % 4 == 0 ? piece.x : i % 4 == 1 ? piece.y : i % 4 == 2 ? piece.z : piece.w;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t& word(std::uint32_t i) {
        uint4& piece = pieces_[i / 4];
        return i % 4 == 0 ? piece.x : i % 4 == 1 ? piece.y : i % 4 == 2 ? piece.z : piece.w;
    }

    uint4 pieces_[pieces];
};

/// States of eight units: sums of parts, which are `part_values` apart.
template <class Numbers>
class EightStates {
public:
    __device__ __forceinline__ void load(const void* states, std::size_t at, std::size_t part_values) {
#pragma unroll
        for (std::uint32_t part = 0; part < Numbers::parts; ++part) {
            parts_[part].load(states, at + part * part_values);
        }
    }
    __device__ __forceinline__ void store(void* states, std::size_t at, std::size_t part_values) const {
#pragma unroll
        for (std::uint32_t part = 0; part < Numbers::parts; ++part) {
            parts_[part].store(states, at + part * part_values);
        }
    }

    [[nodiscard]] __device__ __forceinline__ float get(std::uint32_t i) const {
        float sum = parts_[0].get(i);
        if constexpr (Numbers::parts == 2) {
            sum += parts_[1].get(i);
        }
        return sum;
    }

    /// Sets units `two` * 2 and the next.
    __device__ __forceinline__ void set(std::uint32_t two, float low, float high) {
        parts_[0].set(two, low, high);
        if constexpr (Numbers::parts == 2) {
            parts_[1].set(two, low - parts_[0].get(2 * two), high - parts_[0].get(2 * two + 1));
        }
    }

private:
    Eight<typename Numbers::Stored> parts_[Numbers::parts];
};

}  // namespace sluice::generator

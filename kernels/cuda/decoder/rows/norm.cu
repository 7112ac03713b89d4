#include <type_traits>

#include "core/error.hpp"
#include "kernels/cuda/decoder/rows/row_values.cuh"
#include "kernels/cuda/decoder/rows/rows.cuh"
#include "kernels/cuda/decoder/rows/rows.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/block.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice::decoder {

constexpr std::uint32_t norm_chains = 16;  // partial sums, as on the host

/// Sum of the half warp's partial sums, in order.
__device__ __forceinline__ float sum_in_order(float part) {
    const std::uint32_t first = threadIdx.x % warp_lanes / norm_chains * norm_chains;
    float sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < norm_chains; ++i) {
        sum = __fadd_rn(sum, __shfl_sync(every_lane, part, first + i));
    }
    return sum;
}

/// Calls `use` with the index of each value of a chain, at most `pieces` of them; 0: any number.
template <std::uint32_t pieces, class Use>
__device__ __forceinline__ void for_each_of_chain(std::uint32_t values, const Use& use) {
    if constexpr (pieces == 0) {
        for (std::uint32_t i = 0; i < values; ++i) {
            use(i);
        }
    } else {
#pragma unroll
        for (std::uint32_t i = 0; i < pieces; ++i) {
            if (i < values) {
                use(i);
            }
        }
    }
}

/// Half a warp per row, which stays in registers if it has at most norm_chains times `pieces` values; 0: it does not.
template <Kept kept_as, std::uint32_t pieces>
__global__ void __launch_bounds__(row_threads) normalise_in_order(Norm norm) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = *norm.rows;
    const std::uint32_t chain = threadIdx.x % norm_chains;
    const std::uint32_t step = gridDim.x * (row_threads / norm_chains);
    const std::uint32_t count = (norm.width + norm_chains - 1 - chain) / norm_chains;
    const auto width = static_cast<float>(norm.width);
    const std::uint32_t begin = (blockIdx.x * row_threads + threadIdx.x) / warp_lanes * 2;
    for (std::uint32_t pair = begin; pair < rows; pair += step) {
        const std::uint32_t number = pair + threadIdx.x % warp_lanes / norm_chains;
        const std::uint32_t row = min(number, rows - 1);  // the other half may still have a row
        const float* const from = static_cast<const float*>(norm.from) + std::size_t{row} * norm.stride + chain;
        float kept[pieces == 0 ? 1 : pieces] = {};
        if constexpr (pieces != 0) {
            for_each_of_chain<pieces>(count, [&](std::uint32_t i) { kept[i] = from[i * norm_chains]; });
        }
        const auto value_of = [&](std::uint32_t i) { return pieces == 0 ? from[i * norm_chains] : kept[i]; };
        float part = 0;
        float mean = 0;
        if (!norm.is_rms) {
            for_each_of_chain<pieces>(count, [&](std::uint32_t i) { part = __fadd_rn(part, value_of(i)); });
            mean = __fdiv_rn(sum_in_order(part), width);
            part = 0;
        }
        for_each_of_chain<pieces>(count, [&](std::uint32_t i) {
            const float off = __fadd_rn(value_of(i), -mean);
            part = __fadd_rn(part, __fmul_rn(off, off));
        });
        const float variance = __fdiv_rn(sum_in_order(part), width);
        const float scale = __fdiv_rn(1.0F, __fsqrt_rn(__fadd_rn(variance, norm.epsilon)));
        if (number < rows) {
            float* const to = static_cast<float*>(norm.to) + std::size_t{row} * norm.stride;
            for_each_of_chain<pieces>(count, [&](std::uint32_t i) {
                const std::uint32_t at = i * norm_chains;
                const float scaled =
                    __fmul_rn(__fmul_rn(__fadd_rn(value_of(i), -mean), scale), __ldg(norm.gamma + chain + at));
                keep<kept_as>(to, norm.stride, chain + at, __fadd_rn(scaled, __ldg(norm.beta + chain + at)));
            });
            if constexpr (kept_as == Kept::as_is) {  // products with weights of zero: what was there may be NaN
                for (std::uint32_t at = norm.width + chain; at < norm.stride; at += norm_chains) {
                    to[at] = 0;
                }
            }
        }
    }
}

/// Loads four or eight values, 16 bytes aligned to as many.
template <class T, std::uint32_t count>
__device__ __forceinline__ void load(const T* from, float (&to)[count]) {
    if constexpr (count == 4) {
        load_4(from, to);
    } else {
        load_8(from, to);
    }
}

template <class T>
constexpr std::uint32_t piece_values = 16 / sizeof(T);

/// A warp's row: `pieces` times 16 bytes per lane. Values after the width are 0.
template <class T, std::uint32_t pieces>
class WarpRow {
public:
    using Piece = float[piece_values<T>];

    __device__ __forceinline__ WarpRow(const void* rows, std::size_t at, std::uint32_t width) : width_(width) {
        for_each([&](std::uint32_t column, Piece& x) { load(static_cast<const T*>(rows) + at + column, x); });
    }

    /// Subtracts the mean, or 0 if `is_rms`; returns 1 / sqrt(variance + epsilon).
    __device__ __forceinline__ float take_mean(float epsilon, bool is_rms) {
        const float per_width = 1.0F / static_cast<float>(width_);
        float sum = 0;
        for_each([&](std::uint32_t, Piece& x) {
#pragma unroll
            for (const float value : x) {
                sum += value;
            }
        });
        const float mean = is_rms ? 0.0F : sum_of_warp(sum) * per_width;
        float squares = 0;
        for_each([&](std::uint32_t, Piece& x) {
#pragma unroll
            for (float& value : x) {
                value -= mean;
                squares = fmaf(value, value, squares);
            }
        });
        return __frsqrt_rn(fmaf(sum_of_warp(squares), per_width, epsilon));
    }

    /// Calls `use` with the first column of each of the lane's pieces, and the values.
    template <class Use>
    __device__ __forceinline__ void for_each(const Use& use) {
#pragma unroll
        for (std::uint32_t p = 0; p < pieces; ++p) {
            const std::uint32_t column = (p * warp_lanes + threadIdx.x % warp_lanes) * piece_values<T>;
            if (column < width_) {
                use(column, x_[p]);
            }
        }
    }

private:
    std::uint32_t width_;
    Piece x_[pieces] = {};
};

/// A warp per row.
template <class T, Kept kept_as, std::uint32_t pieces>
__global__ void __launch_bounds__(row_threads) normalise(Norm norm) {
    for_each_row_of_warp(norm.rows, [&](std::uint32_t row, std::uint32_t) {
        WarpRow<T, pieces> values(norm.from, std::size_t{row} * norm.stride, norm.width);
        const float scale = values.take_mean(norm.epsilon, norm.is_rms);
        T* const to = static_cast<T*>(norm.to) + std::size_t{row} * norm.stride;
        values.for_each([&](std::uint32_t column, typename WarpRow<T, pieces>::Piece& x) {
            alignas(16) float gamma[piece_values<T>];
            alignas(16) float beta[piece_values<T>];
            load(norm.gamma + column, gamma);
            load(norm.beta + column, beta);
#pragma unroll
            for (std::uint32_t i = 0; i < piece_values<T>; ++i) {
                x[i] = fmaf(x[i] * scale, gamma[i], beta[i]);
            }
            if constexpr (std::is_same_v<T, float>) {
                keep_4<kept_as>(to, norm.stride, column, x);
            } else {
                store_8(to + column, x);
            }
        });
    });
}

template <class T, std::uint32_t pieces>
__global__ void __launch_bounds__(row_threads) find_scales(NormScales scales) {
    for_each_row_of_warp(scales.rows, [&](std::uint32_t row, std::uint32_t) {
        WarpRow<T, pieces> values(scales.from, std::size_t{row} * scales.stride, scales.width);
        const float scale = values.take_mean(scales.epsilon, scales.is_rms);
        if (threadIdx.x % warp_lanes == 0) {
            scales.to[row] = scale;
        }
    });
}

template <std::uint32_t pieces>
__global__ void __launch_bounds__(row_threads) normalise_to_codes(NormCodes codes) {
    using T = __nv_bfloat16;
    for_each_row_of_warp(codes.rows, [&](std::uint32_t row, std::uint32_t) {
        WarpRow<T, pieces> numbers(codes.from, std::size_t{row} * codes.width, codes.width);
        const float scale = numbers.take_mean(codes.epsilon, codes.is_rms) * codes.scale;
        auto* const to = static_cast<std::uint8_t*>(codes.to) + std::size_t{row} * codes.width;
        numbers.for_each([&](std::uint32_t column, typename WarpRow<T, pieces>::Piece& x) {
            const auto four = [&](std::uint32_t i) {
                return values::e4m3_of(x[i] * scale, x[i + 1] * scale) |
                       values::e4m3_of(x[i + 2] * scale, x[i + 3] * scale) << 16U;
            };
            *reinterpret_cast<uint2*>(to + column) = {four(0), four(4)};
        });
    });
}

/// Calls `use` with the number of a lane's pieces of a row of at most most_norm_width values, as a constant's type.
template <class T, class Use>
void with_pieces(std::uint32_t width, const Use& use) {
    constexpr std::uint32_t piece = warp_lanes * piece_values<T>;
    if (width <= 4 * piece) {
        use(std::integral_constant<std::uint32_t, 4>{});
    } else if (width <= 8 * piece) {
        use(std::integral_constant<std::uint32_t, 8>{});
    } else if (width <= 16 * piece) {
        use(std::integral_constant<std::uint32_t, 16>{});
    } else {
        use(std::integral_constant<std::uint32_t, most_norm_width / piece>{});
    }
}

LaunchShape norm_launch(std::uint32_t most_rows, std::uint32_t threads_of_row) {
    return {.blocks = blocks_for(most_rows, row_threads / threads_of_row, most_row_blocks),
            .threads = row_threads,
            .chained = true};
}

template <Kept kept, std::uint32_t pieces>
void enqueue_norm_in_order(const Norm& norm, cudaStream_t stream) {
    launch(&normalise_in_order<kept, pieces>, "normalisation", norm_launch(norm.most_rows, norm_chains), stream, norm);
}

/// As the host sums.
void enqueue_norm_in_order(const Norm& norm, cudaStream_t stream) {
    if (norm.width <= 24 * norm_chains) {
        enqueue_norm_in_order<Kept::as_is, 24>(norm, stream);
    } else if (norm.width <= 48 * norm_chains) {
        enqueue_norm_in_order<Kept::as_is, 48>(norm, stream);
    } else if (norm.width <= 100 * norm_chains) {
        enqueue_norm_in_order<Kept::as_is, 100>(norm, stream);
    } else {
        enqueue_norm_in_order<Kept::as_is, 0>(norm, stream);
    }
}

template <class T, Kept kept>
void enqueue_norm_by_warps(const Norm& norm, cudaStream_t stream) {
    if constexpr (std::is_same_v<T, float>) {
        if (norm.width > most_norm_width) {
            return enqueue_norm_in_order<kept, 0>(norm, stream);
        }
    }
    with_pieces<T>(norm.width, [&](auto pieces) {
        launch(&normalise<T, kept, pieces>, "normalisation", norm_launch(norm.most_rows, warp_lanes), stream, norm);
    });
}

void enqueue_norm(Precision precision, const Norm& norm, cudaStream_t stream) {
    switch (precision) {
        case Precision::bf16:
            return enqueue_norm_by_warps<__nv_bfloat16, Kept::as_is>(norm, stream);
        case Precision::fp16:
            return enqueue_norm_by_warps<__half, Kept::as_is>(norm, stream);
        case Precision::tf32:
            return enqueue_norm_by_warps<float, Kept::tf32>(norm, stream);
        case Precision::tf32x3:
            return enqueue_norm_by_warps<float, Kept::half_parts>(norm, stream);
        case Precision::fp16x2:
            return enqueue_norm_by_warps<float, Kept::half_codes>(norm, stream);
        default:
            return enqueue_norm_in_order(norm, stream);
    }
}

void enqueue_norm_scales(Precision precision, const NormScales& scales, cudaStream_t stream) {
    expects(precision == Precision::bf16 || precision == Precision::fp16, "decoder: scales of bf16 and fp16 only");
    with_narrow_type_of(precision, [&](auto type) {
        with_pieces<decltype(type)>(scales.width, [&](auto pieces) {
            launch(&find_scales<decltype(type), pieces>, "scales of normalisation",
                   norm_launch(scales.most_rows, warp_lanes), stream, scales);
        });
    });
}

void enqueue_norm_codes(const NormCodes& codes, cudaStream_t stream) {
    with_pieces<__nv_bfloat16>(codes.width, [&](auto pieces) {
        launch(&normalise_to_codes<pieces>, "normalisation", norm_launch(codes.most_rows, warp_lanes), stream, codes);
    });
}

}  // namespace sluice::decoder

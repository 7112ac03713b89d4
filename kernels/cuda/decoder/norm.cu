#include <type_traits>

#include "core/error.hpp"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/row_values.cuh"
#include "kernels/cuda/decoder/rows.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ptx.cuh"

namespace sluice::decoder {

constexpr std::uint32_t norm_threads = 128;
constexpr std::uint32_t norm_chains = 16;  // partial sums, as on the host
constexpr std::uint32_t most_norm_blocks = 2112;

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
__global__ void __launch_bounds__(norm_threads) normalise_in_order(Norm norm) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = *norm.rows;
    const std::uint32_t chain = threadIdx.x % norm_chains;
    const std::uint32_t step = gridDim.x * (norm_threads / norm_chains);
    const std::uint32_t count = (norm.width + norm_chains - 1 - chain) / norm_chains;
    const auto width = static_cast<float>(norm.width);
    const std::uint32_t begin = (blockIdx.x * norm_threads + threadIdx.x) / warp_lanes * 2;
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
        }
    }
}

/// A warp's row: `pieces` times 8 values per lane. Values after the width are 0 or unspecified.
template <class T, std::uint32_t pieces>
class WarpRow {
public:
    __device__ __forceinline__ WarpRow(const void* rows, std::size_t at, std::uint32_t width) : width_(width) {
        for_each([&](std::uint32_t column, float(&x)[8]) { load_8(static_cast<const T*>(rows) + at + column, x); });
    }

    /// Subtracts the mean, or 0 if `is_rms`; returns 1 / sqrt(variance + epsilon).
    __device__ __forceinline__ float take_mean(float epsilon, bool is_rms) {
        const float per_width = 1.0F / static_cast<float>(width_);
        float sum = 0;
        for_each([&](std::uint32_t, float(&x)[8]) {
#pragma unroll
            for (const float value : x) {
                sum += value;
            }
        });
        const float mean = is_rms ? 0.0F : sum_of_warp(sum) * per_width;
        float squares = 0;
        for_each([&](std::uint32_t, float(&x)[8]) {
#pragma unroll
            for (float& value : x) {
                value -= mean;
                squares = fmaf(value, value, squares);
            }
        });
        return rsqrtf(fmaf(sum_of_warp(squares), per_width, epsilon));
    }

    /// Calls `use` with the first column of each of the lane's groups of eight, and the values.
    template <class Use>
    __device__ __forceinline__ void for_each(const Use& use) {
#pragma unroll
        for (std::uint32_t p = 0; p < pieces; ++p) {
            const std::uint32_t column = (p * warp_lanes + threadIdx.x % warp_lanes) * 8;
            if (column < width_) {
                use(column, x_[p]);
            }
        }
    }

private:
    std::uint32_t width_;
    float x_[pieces][8] = {};
};

/// Calls `use` with the rows of this warp among the warps of all blocks.
template <class Use>
__device__ __forceinline__ void for_each_row_of_warp(std::uint32_t rows, const Use& use) {
    const std::uint32_t step = gridDim.x * (norm_threads / warp_lanes);
    for (std::uint32_t row = (blockIdx.x * norm_threads + threadIdx.x) / warp_lanes; row < rows; row += step) {
        use(row);
    }
}

template <class T, std::uint32_t pieces>
__global__ void __launch_bounds__(norm_threads) normalise(Norm norm) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    for_each_row_of_warp(*norm.rows, [&](std::uint32_t row) {
        WarpRow<T, pieces> values(norm.from, std::size_t{row} * norm.stride, norm.width);
        const float scale = values.take_mean(norm.epsilon, norm.is_rms);
        T* const to = static_cast<T*>(norm.to) + std::size_t{row} * norm.stride;
        values.for_each([&](std::uint32_t column, float(&x)[8]) {
            alignas(16) float gamma[8];
            alignas(16) float beta[8];
            load_8(norm.gamma + column, gamma);
            load_8(norm.beta + column, beta);
#pragma unroll
            for (std::uint32_t i = 0; i < 8; ++i) {
                x[i] = fmaf(x[i] * scale, gamma[i], beta[i]);
            }
            store_8(to + column, x);
        });
    });
}

template <class T, std::uint32_t pieces>
__global__ void __launch_bounds__(norm_threads) find_scales(NormScales scales) {
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    for_each_row_of_warp(*scales.rows, [&](std::uint32_t row) {
        WarpRow<T, pieces> values(scales.from, std::size_t{row} * scales.stride, scales.width);
        const float scale = values.take_mean(scales.epsilon, scales.is_rms);
        if (threadIdx.x % warp_lanes == 0) {
            scales.to[row] = scale;
        }
    });
}

template <Kept kept>
auto norm_in_order(std::uint32_t width) {
    return width <= 24 * norm_chains    ? &normalise_in_order<kept, 24>
           : width <= 48 * norm_chains  ? &normalise_in_order<kept, 48>
           : width <= 100 * norm_chains ? &normalise_in_order<kept, 100>
                                        : &normalise_in_order<kept, 0>;
}

/// Calls `use` with a lane's number of groups of eight in a row, as a constant's type.
template <class Use>
void with_pieces(std::uint32_t width, const Use& use) {
    constexpr std::uint32_t piece = 8 * warp_lanes;
    if (width <= 4 * piece) {
        use(std::integral_constant<std::uint32_t, 4>{});
    } else if (width <= 8 * piece) {
        use(std::integral_constant<std::uint32_t, 8>{});
    } else {
        use(std::integral_constant<std::uint32_t, 16>{});
    }
}

LaunchShape norm_launch(std::uint32_t most_rows, std::uint32_t threads_of_row) {
    return {.blocks = blocks_for(most_rows, norm_threads / threads_of_row, most_norm_blocks),
            .threads = norm_threads,
            .chained = true};
}

void enqueue_norm(Precision precision, const Norm& norm, cudaStream_t stream) {
    if (precision == Precision::bf16 || precision == Precision::fp16) {
        const LaunchShape shape = norm_launch(norm.most_rows, warp_lanes);
        with_pieces(norm.width, [&](auto pieces) {
            launch(precision == Precision::bf16 ? &normalise<__nv_bfloat16, pieces> : &normalise<__half, pieces>,
                   "normalisation", shape, stream, norm);
        });
        return;
    }
    launch(precision == Precision::tf32     ? norm_in_order<Kept::tf32>(norm.width)
           : precision == Precision::tf32x3 ? norm_in_order<Kept::half_parts>(norm.width)
                                            : norm_in_order<Kept::as_is>(norm.width),
           "normalisation", norm_launch(norm.most_rows, norm_chains), stream, norm);
}

void enqueue_norm_scales(Precision precision, const NormScales& scales, cudaStream_t stream) {
    expects(precision == Precision::bf16 || precision == Precision::fp16, "decoder: scales of bf16 and fp16 only");
    with_pieces(scales.width, [&](auto pieces) {
        launch(precision == Precision::bf16 ? &find_scales<__nv_bfloat16, pieces> : &find_scales<__half, pieces>,
               "scales of normalisation", norm_launch(scales.most_rows, warp_lanes), stream, scales);
    });
}

}  // namespace sluice::decoder

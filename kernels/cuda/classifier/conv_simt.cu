#include "kernels/cuda/classifier/conv_simt.hpp"

#include "core/error.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice {
namespace {

constexpr std::uint32_t group = 3;  // consecutive rows of a thread: with pooling, one maximum's
constexpr std::uint32_t thread_rows = 8;
constexpr std::uint32_t thread_columns = 16;
constexpr std::uint32_t simt_threads = thread_rows * thread_columns;
constexpr std::uint32_t groups_per_thread = 4;
constexpr std::uint32_t rows_per_thread = group * groups_per_thread;
constexpr std::uint32_t columns_per_thread = 8;
constexpr std::uint32_t tile_rows = thread_rows * rows_per_thread;
constexpr std::uint32_t tile_columns = thread_columns * columns_per_thread;
constexpr std::uint32_t blocks = 3;  // per multiprocessor

constexpr std::uint32_t depth = 16;  // channels of a step
constexpr std::uint32_t most_taps = 9;
constexpr std::uint32_t input_rows = tile_rows + most_taps - 1;
constexpr std::uint32_t input_pitch = depth + 4;  // floats; a thread's neighbour, three rows on, reads other banks
constexpr std::uint32_t stages = 3;
constexpr std::uint32_t input_floats = input_rows * input_pitch;
constexpr std::uint32_t weight_floats = depth * tile_columns;
constexpr std::uint32_t shared_bytes = stages * (input_floats + weight_floats) * sizeof(float);

struct SimtArguments {
    const float* in;
    const float* weights;
    const float* bias;
    float* out;
    std::uint32_t items;
    std::uint32_t rows;  // of all items
    std::uint32_t length;
    std::uint32_t positions;
    std::uint32_t channels;
    std::uint32_t outputs;
    std::uint32_t taps;
    bool relu;
};

/// Tap and channels that a step multiplies, and its stages.
struct Step {
    std::uint32_t tap = 0;
    std::uint32_t channel = 0;
    std::uint32_t input_stage = 0;
    std::uint32_t weight_stage = 0;

    __device__ __forceinline__ void next(const SimtArguments& arguments) {
        weight_stage = weight_stage + 1 == stages ? 0 : weight_stage + 1;
        if (++tap == arguments.taps) {
            tap = 0;
            channel += depth;
            input_stage = input_stage + 1 == stages ? 0 : input_stage + 1;
        }
    }
};

/// Copies the operands of `step` that the previous step has not.
__device__ __forceinline__ void fetch(const SimtArguments& arguments, const Step& step, std::uint32_t shared,
                                      std::uint32_t row, std::uint32_t column) {
    if (step.channel < arguments.channels) {
        if (step.tap == 0) {
            const std::uint32_t to = shared + step.input_stage * input_floats * sizeof(float);
            const std::uint32_t pieces = (tile_rows + arguments.taps - 1) * (depth / 4);
            for (std::uint32_t i = threadIdx.x; i < pieces; i += simt_threads) {
                const std::uint32_t r = i / (depth / 4);
                const std::uint32_t c = i % (depth / 4) * 4;
                const bool present = row + r < arguments.rows;
                const std::size_t at = std::size_t{present ? row + r : 0} * arguments.channels + step.channel + c;
                ptx::copy_16(to + (r * input_pitch + c) * sizeof(float), arguments.in + at, present);
            }
        }
        const std::uint32_t to = shared + (stages * input_floats + step.weight_stage * weight_floats) * sizeof(float);
        const float* from =
            arguments.weights + std::size_t{step.tap * arguments.channels + step.channel} * arguments.outputs + column;
#pragma unroll
        for (std::uint32_t i = 0; i < weight_floats / 4 / simt_threads; ++i) {
            const std::uint32_t piece = threadIdx.x + i * simt_threads;
            const std::uint32_t k = piece / (tile_columns / 4);
            const std::uint32_t c = piece % (tile_columns / 4) * 4;
            ptx::copy_16(to + (k * tile_columns + c) * sizeof(float), from + std::size_t{k} * arguments.outputs + c,
                         true);
        }
    }
    ptx::commit_copies();
}

using Sums = float[rows_per_thread][columns_per_thread];

/// `input`: this thread's first row at this tap; `weights`: this thread's first column. Takes four k at a time, and one
/// half of the rows after the other, to stay in registers.
__device__ __forceinline__ void multiply(Sums& sums, const float* input, const float* weights) {
    constexpr std::uint32_t half_rows = rows_per_thread / 2;
    constexpr std::uint32_t together = 4;
#pragma unroll
    for (std::uint32_t k = 0; k < depth; k += together) {
        float b[together][columns_per_thread];
#pragma unroll
        for (std::uint32_t i = 0; i < together; ++i) {
            const float4 b0 = *reinterpret_cast<const float4*>(weights + (k + i) * tile_columns);
            const float4 b1 = *reinterpret_cast<const float4*>(weights + (k + i) * tile_columns + tile_columns / 2);
            b[i][0] = b0.x, b[i][1] = b0.y, b[i][2] = b0.z, b[i][3] = b0.w;
            b[i][4] = b1.x, b[i][5] = b1.y, b[i][6] = b1.z, b[i][7] = b1.w;
        }
#pragma unroll
        for (std::uint32_t first = 0; first < rows_per_thread; first += half_rows) {
            float4 a[half_rows];
#pragma unroll
            for (std::uint32_t r = 0; r < half_rows; ++r) {
                const std::uint32_t row = (first + r) / group * group * thread_rows + (first + r) % group;
                a[r] = *reinterpret_cast<const float4*>(input + row * input_pitch + k);
            }
#pragma unroll
            for (std::uint32_t i = 0; i < together; ++i) {
#pragma unroll
                for (std::uint32_t r = 0; r < half_rows; ++r) {
                    const float x = i == 0 ? a[r].x : i == 1 ? a[r].y : i == 2 ? a[r].z : a[r].w;
#pragma unroll
                    for (std::uint32_t c = 0; c < columns_per_thread; ++c) {
                        sums[first + r][c] = fmaf(x, b[i][c], sums[first + r][c]);
                    }
                }
            }
        }
    }
}

/// Rows of a thread's groups: 3 (its number + 8 j) … + 2; columns: 4 (its number) … + 3 of each half of the tile.
template <bool pooled>
__global__ void __launch_bounds__(simt_threads, blocks) convolve(const SimtArguments arguments) {
    extern __shared__ float shared_floats[];
    const std::uint32_t shared = ptx::shared_address(shared_floats);
    const std::uint32_t row = blockIdx.x * tile_rows;
    const std::uint32_t column = blockIdx.y * tile_columns;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t thread_row = lane / 4;
    const std::uint32_t thread_column = warp * 4 + lane % 4;
    const std::uint32_t first_column = column + thread_column * 4;
    Sums sums;
    {
        const float4 b0 = __ldg(reinterpret_cast<const float4*>(arguments.bias + first_column));
        const float4 b1 = __ldg(reinterpret_cast<const float4*>(arguments.bias + first_column + tile_columns / 2));
#pragma unroll
        for (auto& s : sums) {
            s[0] = b0.x, s[1] = b0.y, s[2] = b0.z, s[3] = b0.w;
            s[4] = b1.x, s[5] = b1.y, s[6] = b1.z, s[7] = b1.w;
        }
    }
    Step ahead;
    Step step;
    fetch(arguments, ahead, shared, row, column);
    ahead.next(arguments);
    fetch(arguments, ahead, shared, row, column);
    ahead.next(arguments);
    for (; step.channel < arguments.channels; step.next(arguments), ahead.next(arguments)) {
        ptx::wait_for_copies<1>();
        __syncthreads();  // this step's copies have arrived, and no thread reads the stage that is filled next
        fetch(arguments, ahead, shared, row, column);
        multiply(sums, shared_floats + step.input_stage * input_floats + (group * thread_row + step.tap) * input_pitch,
                 shared_floats + stages * input_floats + step.weight_stage * weight_floats + thread_column * 4);
    }
    ptx::wait_for_copies<0>();
#pragma unroll
    for (std::uint32_t j = 0; j < groups_per_thread; ++j) {
        const std::uint32_t first = row + group * (thread_row + thread_rows * j);
        const std::uint32_t item = first / arguments.length;
        const std::uint32_t position = first - item * arguments.length;
        auto* s = &sums[j * group];
        if constexpr (pooled) {
#pragma unroll
            for (std::uint32_t c = 0; c < columns_per_thread; ++c) {
                s[0][c] = ptx::larger_or_nan(ptx::larger_or_nan(s[0][c], s[1][c]), s[2][c]);
            }
        }
#pragma unroll
        for (std::uint32_t p = 0; p < (pooled ? 1 : group); ++p) {
            const bool carry = position + p >= arguments.length;
            const std::uint32_t at = position + p - (carry ? arguments.length : 0);
            const std::uint32_t of = item + (carry ? 1 : 0);
            if (at < arguments.positions && of < arguments.items) {
#pragma unroll
                for (std::uint32_t c = 0; c < columns_per_thread; ++c) {
                    s[p][c] = arguments.relu ? ptx::larger_or_nan(s[p][c], 0.0F) : s[p][c];
                }
                const std::uint32_t kept = pooled ? arguments.positions / group : arguments.positions;
                const std::size_t number = std::size_t{of} * kept + (pooled ? at / group : at);
                float* out = arguments.out + number * arguments.outputs + first_column;
                *reinterpret_cast<float4*>(out) = make_float4(s[p][0], s[p][1], s[p][2], s[p][3]);
                *reinterpret_cast<float4*>(out + tile_columns / 2) = make_float4(s[p][4], s[p][5], s[p][6], s[p][7]);
            }
        }
    }
}

}  // namespace

ConvSimt::ConvSimt(const ConvGemmShape& shape, std::uint32_t most_items, const ConvGemmMemory& memory)
    : shape_(shape), most_items_(most_items), memory_(memory) {
    expects(shape.taps >= 1 && shape.taps <= most_taps && shape.taps <= shape.length && shape.channels > 0 &&
                shape.channels % depth == 0 && shape.outputs > 0 && shape.outputs % tile_columns == 0 &&
                shape.length >= group && (shape.pool == 1 || shape.pool == group) && shape.length % shape.pool == 0 &&
                shape.positions() % shape.pool == 0,
            "convolution: its sizes do not fit the fp32 kernel");
    for (auto* kernel : {&convolve<false>, &convolve<true>}) {
        allow_shared_bytes(kernel, shared_bytes);
    }
}

void ConvSimt::enqueue(std::uint32_t items, cudaStream_t stream) const {
    expects(items <= most_items_, "convolution: more items than it was made for");
    if (items == 0) {
        return;
    }
    const SimtArguments arguments{.in = static_cast<const float*>(memory_.in),
                                  .weights = static_cast<const float*>(memory_.weights),
                                  .bias = memory_.bias,
                                  .out = static_cast<float*>(memory_.out),
                                  .items = items,
                                  .rows = items * shape_.length,
                                  .length = shape_.length,
                                  .positions = shape_.positions(),
                                  .channels = shape_.channels,
                                  .outputs = shape_.outputs,
                                  .taps = shape_.taps,
                                  .relu = shape_.relu};
    const dim3 grid((arguments.rows + tile_rows - 1) / tile_rows, shape_.outputs / tile_columns);
    if (shape_.pool == 1) {
        convolve<false><<<grid, simt_threads, shared_bytes, stream>>>(arguments);
    } else {
        convolve<true><<<grid, simt_threads, shared_bytes, stream>>>(arguments);
    }
    check_launch("convolution");
}

}  // namespace sluice

#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/classifier/label.hpp"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice {
namespace {

constexpr std::uint32_t block_warps = 4;
constexpr std::uint32_t together = 4;  // classes summed side by side

/// One warp per item.
template <class In>
__global__ void __launch_bounds__(block_warps * 32) label(LabelShape shape, LabelMemory memory, std::uint32_t items) {
    constexpr int n = values::in_16_bytes<In>;
    const std::uint32_t item = blockIdx.x * block_warps + threadIdx.x / 32;
    const std::uint32_t lane = threadIdx.x % 32;
    if (item >= items) {
        return;
    }
    const In* in = static_cast<const In*>(memory.in) + std::size_t{item} * shape.inputs;
    std::int32_t* result = memory.out + std::size_t{item} * (1 + (shape.scores ? shape.classes : 0));
    float best = 0;
    std::int32_t best_class = 0;
    bool finite = true;
    for (std::uint32_t first = 0; first < shape.classes; first += together) {
        float sums[together] = {};
        for (std::uint32_t i = lane * n; i < shape.inputs; i += 32 * n) {
            float x[n];
            values::unpack(__ldg(reinterpret_cast<const uint4*>(in + i)), x, In{});
#pragma unroll
            for (std::uint32_t c = 0; c < together; ++c) {
                const std::uint32_t row = min(first + c, shape.classes - 1);
                const float* weights = memory.weights + std::size_t{row} * shape.inputs + i;
#pragma unroll
                for (int v = 0; v < n; v += 4) {
                    const float4 w = __ldg(reinterpret_cast<const float4*>(weights + v));
                    sums[c] = fmaf(x[v], w.x, fmaf(x[v + 1], w.y, fmaf(x[v + 2], w.z, fmaf(x[v + 3], w.w, sums[c]))));
                }
            }
        }
#pragma unroll
        for (std::uint32_t c = 0; c < together; ++c) {
#pragma unroll
            for (int offset = 16; offset > 0; offset /= 2) {
                sums[c] += __shfl_xor_sync(~0U, sums[c], offset);
            }
        }
#pragma unroll
        for (std::uint32_t c = 0; c < together; ++c) {
            if (first + c < shape.classes) {
                const float score = sums[c] + __ldg(memory.bias + first + c);
                finite = finite && isfinite(score);
                if (first + c == 0 || score > best) {
                    best = score;
                    best_class = static_cast<std::int32_t>(first + c);
                }
                if (shape.scores && lane == 0) {
                    result[1 + first + c] = __float_as_int(score);
                }
            }
        }
    }
    if (lane == 0) {
        result[0] = finite ? best_class : best_class | shape.mark;
    }
}

}  // namespace

void enqueue_labels(const LabelShape& shape, Precision precision, const LabelMemory& memory, std::uint32_t items,
                    cudaStream_t stream) {
    expects(shape.classes > 0 && shape.inputs > 0 && shape.inputs % 8 == 0, "labels: their sizes do not fit");
    if (items == 0) {
        return;
    }
    const dim3 grid((items + block_warps - 1) / block_warps);
    if (precision == Precision::bf16) {
        label<__nv_bfloat16><<<grid, block_warps * 32, 0, stream>>>(shape, memory, items);
    } else if (precision == Precision::fp16) {
        label<__half><<<grid, block_warps * 32, 0, stream>>>(shape, memory, items);
    } else {
        label<float><<<grid, block_warps * 32, 0, stream>>>(shape, memory, items);
    }
    check_launch("labels");
}

}  // namespace sluice

// 19, fp16x3: fp32's exactness from the tensor cores. Each fp32 value is split into two of fp16, what fp16 keeps of it
// and what it keeps of the rest, 22 bits together; of the four products three count: first by first, and both of a
// first by a rest. The tensor cores multiply fp16 twelve times as fast as the FMA pipes fp32, so that three products
// are still several times faster. Their weakness is long sums, which they truncate to 24 bits, towards zero, instead of
// rounding. So sums of 256 products go to another set of registers, rounded as fp32 does, and small products come
// before large ones. This is FloatProduct, with which GPT-2 computes in tf32x3. Operands are split before the time
// begins.
#include <cuda_fp16.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/device/cuda_error.hpp"
#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/primitives/values.cuh"
#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t split_threads = 256;
constexpr std::uint32_t split_blocks = 2112;

/// A matrix with element (r, k) at r * row_stride + k * stride.
struct Factor {
    const float* values;
    std::size_t row_stride;
    std::size_t stride;
    std::uint32_t rows;
    std::uint32_t depth;
};

/// to: (rows, 2, depth)
__global__ void split_factor(Factor from, std::uint16_t* to) {
    const std::size_t count = std::size_t{from.rows} * from.depth;
    for (std::size_t i = std::size_t{blockIdx.x} * split_threads + threadIdx.x; i < count;
         i += std::size_t{split_blocks} * split_threads) {
        const std::size_t row = i / from.depth;
        const std::size_t k = i % from.depth;
        const values::HalfParts parts = values::split_half(from.values[row * from.row_stride + k * from.stride], 0);
        to[row * 2 * from.depth + k] = static_cast<std::uint16_t>(parts.firsts);
        to[(row * 2 + 1) * from.depth + k] = static_cast<std::uint16_t>(parts.rests);
    }
}

std::shared_ptr<DeviceMemory> split(const Factor& factor) {
    auto parts = std::make_shared<DeviceMemory>(std::size_t{2} * factor.rows * factor.depth * sizeof(std::uint16_t));
    split_factor<<<split_blocks, split_threads>>>(factor, parts->as<std::uint16_t>());
    check_launch("split_factor");
    return parts;
}

MadeProduct make_two_parts(const Size& size, const Operands& operands) {
    const auto a = split({.values = static_cast<const float*>(operands.a),
                          .row_stride = size.k,
                          .stride = 1,
                          .rows = size.m,
                          .depth = size.k});
    const auto b = split({.values = static_cast<const float*>(operands.b),
                          .row_stride = 1,
                          .stride = size.n,
                          .rows = size.n,
                          .depth = size.k});
    const std::array<std::uint32_t, 1> all{size.m};
    const auto rows = std::make_shared<DeviceMemory>(std::as_bytes(std::span(all)));
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const decoder::FloatProduct product({.rows = size.m, .columns = size.n, .depth = size.k}, Precision::tf32x3,
                                        {.a = a->as(),
                                         .b = b->as(),
                                         .bias = nullptr,
                                         .residual = nullptr,
                                         .out = static_cast<float*>(operands.out),
                                         .stride = size.n,
                                         .bests = nullptr,
                                         .active = rows->as<std::uint32_t>()});
    return {[a, b, rows, product](cudaStream_t stream) { product.enqueue(stream); },
            "wgmma fp16, tiles of " + std::to_string(product.tile_columns()) + " columns"};
}

}  // namespace

const Rung rung_19_two_parts{19, "fp16x3", Precision::fp32, {1, 2, 8}, true, &make_two_parts};

}  // namespace sluice::ladder

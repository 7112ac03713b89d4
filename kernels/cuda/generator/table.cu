#include "kernels/cuda/generator/table.hpp"

#include <cuda_fp16.h>

#include <array>
#include <utility>

#include "core/device/cuda_stream.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/product.hpp"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::generator {

constexpr std::uint32_t round_threads = 256;

/// Rounds `columns` values, a row per block; NaN stays NaN.
__global__ void __launch_bounds__(round_threads) round_table(const float* from, __half* to, std::uint32_t columns) {
    constexpr float most = 65504;
    ptx::wait_for_previous_kernel();
    for (std::uint32_t i = threadIdx.x; i < columns; i += round_threads) {
        const std::size_t at = std::size_t{blockIdx.x} * columns + i;
        float value = from[at];
        value = value > most ? most : value;
        to[at] = __float2half_rn(value < -most ? -most : value);
    }
}

namespace {

bool is_half(Precision precision) {
    return precision == Precision::bf16 || precision == Precision::fp16;
}

std::uint64_t values_of(const PaddedShape& shape) {
    return std::uint64_t{gru_symbols} * shape.gate_columns;
}

}  // namespace

InputTable::InputTable(Device& device, const PaddedShape& shape, Precision precision, const WeightsOnDevice& weights)
    : table_(device.allocate(MemorySpace::device, values_of(shape) * sizeof(float))) {
    const Buffer rows = device.allocate(MemorySpace::device, sizeof(std::uint32_t));
    constexpr std::array<std::uint32_t, 1> all{gru_symbols};
    copy_now(rows.bytes(), std::as_bytes(std::span(all)));
    const std::unique_ptr<Stream> stream = device.make_stream({});
    const cudaStream_t handle = as_cuda(*stream).handle();
    ordered::enqueue_product({.in = weights.embedding.as<float>().data(),
                              .weights = weights.layers.front().input.as<float>().data(),
                              .bias = weights.layers.front().input_bias.as<float>().data(),
                              .out = table_.as<float>().data(),
                              .most_rows = gru_symbols,
                              .columns = shape.gate_columns,
                              .depth = shape.embedding,
                              .rows = rows.as<std::uint32_t>().data(),
                              .tiles = ordered::Tiles::by_rows},
                             handle);
    Buffer halves = device.allocate(MemorySpace::device, is_half(precision) ? values_of(shape) * sizeof(__half) : 0);
    if (is_half(precision)) {
        launch(&round_table, "round table", {.blocks = gru_symbols, .threads = round_threads, .chained = true}, handle,
               table_.as<float>().data(), reinterpret_cast<__half*>(halves.bytes().data()), shape.gate_columns);
    }
    stream->record().wait();
    if (is_half(precision)) {
        table_ = std::move(halves);
    }
}

std::uint64_t InputTable::bytes(const PaddedShape& shape, Precision precision) {
    return values_of(shape) * (sizeof(float) + (is_half(precision) ? sizeof(__half) : 0));
}

}  // namespace sluice::generator

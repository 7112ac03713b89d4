#include "kernels/cuda/generator/table.hpp"

#include <array>

#include "core/device/cuda_stream.hpp"
#include "kernels/cuda/generator/product.hpp"

namespace sluice::generator {

InputTable::InputTable(Device& device, const PaddedShape& shape, const WeightsOnDevice& weights)
    : table_(device.allocate(MemorySpace::device, bytes(shape))) {
    const Buffer rows = device.allocate(MemorySpace::device, sizeof(std::uint32_t));
    constexpr std::array<std::uint32_t, 1> all{gru_symbols};
    copy_now(rows.bytes(), std::as_bytes(std::span(all)));
    const std::unique_ptr<Stream> stream = device.make_stream({});
    enqueue_product({.in = weights.embedding.as<float>().data(),
                     .weights = weights.layers.front().input.as<float>().data(),
                     .bias = weights.layers.front().input_bias.as<float>().data(),
                     .out = table_.as<float>().data(),
                     .most_rows = gru_symbols,
                     .columns = shape.gate_columns,
                     .depth = shape.embedding,
                     .rows = rows.as<std::uint32_t>().data()},
                    as_cuda(*stream).handle());
    stream->record().wait();
}

std::uint64_t InputTable::bytes(const PaddedShape& shape) {
    return std::uint64_t{gru_symbols} * shape.gate_columns * sizeof(float);
}

}  // namespace sluice::generator

#include "kernels/cuda/generator/steps.hpp"

#include <algorithm>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/ordered/product.hpp"

namespace sluice::generator {

StepSizes simt_sizes(const GruShape& shape) {
    const PaddedShape sizes = padded(shape, Precision::fp32);
    const std::uint32_t gates = shape.layers > 1 ? 2 : 1;
    return {.row_multiple = ordered::product_rows,
            .most_rows = 12672,  // three tiles of 96 rows by 128 columns on each of an H200's 132 multiprocessors
            .matrices = shape.layers,
            .row_bytes = sizes.hidden * static_cast<std::uint32_t>(sizeof(float)),
            .work_bytes_per_row = std::uint64_t{gates} * sizes.gate_columns * sizeof(float)};
}

StepSizes tensor_sizes(const GruShape& shape, Precision precision) {
    constexpr std::uint32_t cluster_rows = 256;  // of two tiles
    const std::uint32_t hidden = padded(shape, precision).hidden;
    const std::uint64_t from_input = shape.layers > 1 ? 3 * std::uint64_t{hidden} : 0;
    const std::uint64_t from_state = std::max(3 * hidden, gru_symbols);
    return {.row_multiple = cluster_rows,
            .most_rows = 16896,  // 132 times 128: tiles of 128 rows by 64 units of 1,024 fill an H200's multiprocessors
            .matrices = shape.layers * parts_of_generator(precision),
            .row_bytes = hidden * part_bytes_of_generator(precision),
            .work_bytes_per_row = (from_input + from_state) * sizeof(float)};
}

std::unique_ptr<Steps> make_steps(Device& device, const GruShape& shape, Precision precision,
                                  const WeightsOnDevice& weights, std::uint32_t most_rows, const std::uint32_t* rows) {
    if (precision == Precision::fp32) {
        return make_simt_steps(device, shape, weights, most_rows);
    }
    if (as_cuda(device).instructions() == MatrixInstructions::wgmma) {
        return make_tensor_steps(device, shape, precision, weights, most_rows);
    }
    return make_mma_steps(device, shape, precision, weights, most_rows, rows);
}

}  // namespace sluice::generator

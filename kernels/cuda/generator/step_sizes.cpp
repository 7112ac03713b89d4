#include "kernels/cuda/generator/steps.hpp"
#include "kernels/cuda/ordered/product.hpp"

namespace sluice::generator {

StepSizes simt_sizes(const GruShape& shape) {
    const PaddedShape sizes = padded(shape, Precision::fp32);
    const std::uint32_t gates = shape.layers > 1 ? 2 : 1;
    return {.row_multiple = ordered::product_rows,
            .matrices = shape.layers,
            .row_bytes = sizes.hidden * static_cast<std::uint32_t>(sizeof(float)),
            .work_bytes_a_row = std::uint64_t{gates} * sizes.gate_columns * sizeof(float)};
}

StepSizes tensor_sizes(const GruShape& shape, Precision precision) {
    constexpr std::uint32_t cluster_rows = 256;  // of two tiles
    return {.row_multiple = cluster_rows,
            .matrices = shape.layers * parts_of_generator(precision),
            .row_bytes = padded(shape, precision).hidden * part_bytes_of_generator(precision)};
}

}  // namespace sluice::generator

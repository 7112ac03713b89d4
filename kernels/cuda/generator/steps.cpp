#include "kernels/cuda/generator/steps.hpp"

#include <algorithm>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/ordered/product.hpp"

namespace sluice::generator {
namespace {

/// The more rows, the less of a step goes by at the ends of its kernels. Tiles of 128 rows by 64 units of 1,024 fill an
/// H200's 132 multiprocessors 64 times. More than a quarter of them only where their sums take no more than 2 GiB.
std::uint32_t most_tensor_rows(std::uint64_t bytes_per_row) {
    constexpr std::uint32_t most = 67584;
    constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30U;
    std::uint32_t rows = most;
    while (rows > most / 4 && rows * bytes_per_row > most_bytes) {
        rows /= 2;
    }
    return rows;
}

}  // namespace

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
    const std::uint64_t work_bytes = (from_input + from_state) * sizeof(float);
    return {.row_multiple = cluster_rows,
            .most_rows = most_tensor_rows(work_bytes),
            .matrices = shape.layers * parts_of_generator(precision),
            .row_bytes = hidden * part_bytes_of_generator(precision),
            .work_bytes_per_row = work_bytes};
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

#pragma once

#include <vector>

#include "kernels/dense.hpp"
#include "kernels/host/host_operation.hpp"

namespace sluice {

[[nodiscard]] inline IoShape linear_io(const LinearShape& shape) {
    return {float_bytes(1, shape.inputs), float_bytes(1, shape.outputs)};
}

/// Rows [first, first + count) of a linear layer's weights, with inputs in the activations' memory order.
[[nodiscard]] std::vector<float> rows_as_in_memory(const LinearShape& shape, std::span<const float> weights,
                                                   std::size_t first, std::size_t count);

}  // namespace sluice

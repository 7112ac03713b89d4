#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>

#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// One axis of a tensor as the copy engine sees it. Axis 0 is contiguous.
struct TensorAxis {
    std::uint64_t size;          ///< Elements; copies beyond them are filled with zeros.
    std::uint64_t stride_bytes;  ///< A multiple of 16; ignored for axis 0. Axes may overlap.
    std::uint32_t box;           ///< Elements of one copy, at most 256.
};

/// A map for copies into shared memory in 128-byte swizzle: axis 0's box is 128 bytes long. `base` is device memory,
/// aligned to 16 bytes. Throws Error (unavailable) where the driver has no such maps.
[[nodiscard]] CUtensorMap make_tensor_map(Precision precision, const void* base, std::span<const TensorAxis> axes);

/// The map of a matrix with `rows` contiguous rows, for copies of `box_rows` times 128 bytes.
[[nodiscard]] CUtensorMap make_matrix_map(Precision precision, const void* matrix, std::uint32_t rows,
                                          std::uint64_t columns, std::uint32_t box_rows);

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/gemm/gemm_shape.hpp"
#include "kernels/cuda/launch.hpp"

/// What products of all kinds require, or take if it is not said.
namespace sluice::gemm {

/// Null is aligned to everything.
[[nodiscard]] inline bool is_aligned(const void* pointer, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

inline constexpr std::uint32_t most_extent = 1U << 30;  ///< The copy engine's coordinates are signed.

/// Whether no axis is too long for the kernels.
[[nodiscard]] inline bool is_addressable(const GemmShape& shape) {
    return shape.rows <= most_extent && shape.columns <= most_extent && shape.depth <= most_extent;
}

/// `asked`, or all multiprocessors of the current device if that is 0.
[[nodiscard]] inline std::uint32_t multiprocessors_or_all(std::uint32_t asked) {
    return asked == 0 ? count_multiprocessors() : asked;
}

}  // namespace sluice::gemm

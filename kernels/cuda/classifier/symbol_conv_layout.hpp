#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/classifier/symbol_conv_gpu.hpp"
#include "kernels/cuda/launch.hpp"

/// Layout of a symbol convolution's tables, for host and device code.
namespace sluice::symbol_conv {

constexpr std::size_t table_rows = SymbolConvGpuShape::most_symbols + 1;
constexpr std::size_t row_bytes = 256;  // of channels of one slice: what half a warp reads at once
constexpr std::size_t tap_bytes = table_rows * row_bytes;
constexpr std::size_t slice_bytes = SymbolConvGpuShape::taps * tap_bytes;
constexpr std::size_t pairs = table_rows * table_rows;

constexpr std::size_t inner_sums_at = table_rows;  // after the squares
constexpr std::size_t inner_pair_at(std::size_t distance) {
    return 2 * table_rows + (distance - 1) * pairs;
}
constexpr std::size_t inner_floats = inner_pair_at(SymbolConvGpuShape::taps);

/// Pairs of taps (k, k + d), ordered by d, then k.
constexpr std::size_t end_pair_at(std::size_t distance, std::size_t tap) {
    return (distance * SymbolConvGpuShape::taps - distance * (distance - 1) / 2 + tap) * pairs;
}
constexpr std::size_t end_sums_at = end_pair_at(SymbolConvGpuShape::taps, 0);
constexpr std::size_t end_floats = end_sums_at + SymbolConvGpuShape::taps * table_rows;
static_assert(end_pair_at(1, 0) == 7 * pairs && end_pair_at(6, 0) == 27 * pairs && end_sums_at == 28 * pairs);

}  // namespace sluice::symbol_conv

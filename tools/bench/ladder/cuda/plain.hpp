#pragma once

#include "tools/bench/ladder/cuda/rungs.hpp"

namespace sluice::ladder {

/// relative_error() beside plain sums in fp64, over all rows of a small product, else over 64 rows from first to last;
/// NaN if any element of `out` is, as unwritten memory is. Synchronises with the device.
[[nodiscard]] double error_beside_plain(const Size& size, Precision precision, const Operands& operands);

/// Fills memory with normally distributed values, none of them 0, different for each seed. Synchronises with the
/// device.
void fill_normal(void* to, std::size_t count, Precision precision, float deviation, std::uint32_t seed);

}  // namespace sluice::ladder

#pragma once

#include <cstdint>

/// Instructions of the decoder's kernels only.
namespace sluice::decoder {

/// Loads four matrices of 8 rows of 16 bytes from shared memory, each transposed. Lane l passes the address of row l %
/// 8 of matrix l / 8 and receives of each the values 2 (l % 4) and 2 (l % 4) + 1 of column l / 4.
__device__ __forceinline__ void load_matrices_across(std::uint32_t (&to)[4], std::uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

}  // namespace sluice::decoder

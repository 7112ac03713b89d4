#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sluice::generator {

/// Device memory of a layer's gates in fp32, for rows of `hidden` units, a multiple of 4. Rows of `in` and `own` are
/// `stride` apart and hold the gates r, z, n in sequence.
struct Gates {
    const float* in;              ///< (rows, 3, hidden); with `symbols` a table, (256, 3, hidden).
    const std::uint8_t* symbols;  ///< (rows); null: `in` is indexed by row.
    const float* own;             ///< (rows, 3, hidden)
    const float* before;          ///< (rows, hidden)
    float* after;                 ///< (rows, hidden)
    std::uint32_t stride;
    std::uint32_t hidden;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< In device memory: only so many are computed, from the first on.
};

/// The host's gru_gates(), bit for bit.
void enqueue_gates(const Gates& gates, cudaStream_t stream);

}  // namespace sluice::generator

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sluice::generator {

/// Device memory of the gates of a layer in fp32, for rows of `hidden` units, a multiple of 4; all rows of `in` and
/// `own` begin `stride` apart and have the gates r, z, n after one another.
struct Gates {
    const float* in;              ///< (rows, 3, hidden), or of a table, (256, 3, hidden), with `symbols`.
    const std::uint8_t* symbols;  ///< (rows); null: `in` has a row for each row.
    const float* own;             ///< (rows, 3, hidden)
    const float* before;          ///< (rows, hidden)
    float* after;                 ///< (rows, hidden)
    std::uint32_t stride;
    std::uint32_t hidden;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory: only the first ones are computed.
};

/// The host's gru_gates(), bit for bit.
void enqueue_gates(const Gates& gates, cudaStream_t stream);

}  // namespace sluice::generator

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/modes.hpp"

/// What comes between products by mma.sync in a step, in a precision of the tensor cores.
namespace sluice::generator {

/// Device memory of the gates of a layer. Sums are as products with packed weights leave them, scaled as those: 64
/// units of r, z and n each, in the order of unit_of_column(), for each 64 units.
struct MmaGates {
    const float* from_state;  ///< (rows, 3 hidden)
    const float* from_input;  ///< (rows, 3 hidden); null in layer 0, whose input is in the table.
    const float* bias;        ///< (4, hidden), as WeightsOnDevice has it.
    const void* table;        ///< Layer 0's InputTable, (256, table_stride).
    std::uint32_t table_stride;
    const std::uint8_t* symbols;  ///< (rows)
    const void* before;           ///< (parts, most rows, hidden)
    void* after;
    std::size_t part_values;  ///< From one part of the states to the next.
    float sum_scale;
    std::uint32_t hidden;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< Device memory: only the first ones are computed.
};

void enqueue_mma_gates(Precision precision, const MmaGates& gates, cudaStream_t stream);

/// Device memory of scores.
struct MmaScores {
    const float* sums;  ///< (rows, 256), in the order of score_of_column(), scaled as the weights.
    const float* bias;  ///< (256)
    float* scores;      ///< (rows, 256)
    float sum_scale;
    std::uint32_t most_rows;
    const std::uint32_t* rows;
};

void enqueue_mma_scores(const MmaScores& scores, cudaStream_t stream);

}  // namespace sluice::generator

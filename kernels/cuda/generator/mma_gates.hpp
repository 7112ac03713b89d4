#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/modes.hpp"

/// Elementwise parts of a step by mma.sync, between its products.
namespace sluice::generator {

/// Device memory of a layer's gates. Sums are those of products with packed weights, and scaled like those: for each 64
/// units, 64 of r, z and n each, in the order of unit_of_column().
struct MmaGates {
    const float* from_state;  ///< (rows, 3 hidden)
    const float* from_input;  ///< (rows, 3 hidden); null in layer 0, whose input is in the table.
    const float* bias;        ///< (4, hidden), WeightsOnDevice::Layer::hidden_bias.
    const void* table;        ///< Layer 0's InputTable, (256, table_stride).
    std::uint32_t table_stride;
    const std::uint8_t* symbols;  ///< (rows)
    const void* before;           ///< (parts, most rows, hidden)
    void* after;
    std::size_t part_values;  ///< Values between one part of the states and the next.
    float sum_scale;
    std::uint32_t hidden;
    std::uint32_t most_rows;
    const std::uint32_t* rows;  ///< In device memory: only so many are computed, from the first on.
};

void enqueue_mma_gates(Precision precision, const MmaGates& gates, cudaStream_t stream);

/// Device memory of scores.
struct MmaScores {
    const float* sums;  ///< (rows, 256), in the order of score_of_column(), scaled like the weights.
    const float* bias;  ///< (256)
    float* scores;      ///< (rows, 256)
    float sum_scale;
    std::uint32_t most_rows;
    const std::uint32_t* rows;
};

void enqueue_mma_scores(const MmaScores& scores, cudaStream_t stream);

}  // namespace sluice::generator

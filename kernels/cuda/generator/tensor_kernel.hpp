#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

/// Parameters of the kernels of steps by wgmma.
namespace sluice::generator {

inline constexpr std::uint32_t most_segments = 6;
inline constexpr std::uint32_t tensor_units = 64;           ///< In a tile of gates.
inline constexpr std::uint32_t tensor_run_units = 8;        ///< Adjacent units whose sums one thread has.
inline constexpr std::uint32_t tensor_lane_runs = 4;        ///< Adjacent runs, of four threads.
inline constexpr std::uint32_t tensor_gate_columns = 192;   ///< Rows of weights for tensor_units.
inline constexpr std::uint32_t tensor_score_columns = 128;  ///< In a tile of scores.
inline constexpr std::uint32_t tensor_tile_rows = 128;
inline constexpr std::uint32_t tensor_cluster_rows = 2;  ///< Tiles in a cluster, which share their weights.
inline constexpr std::uint32_t tensor_step_bytes = 128;  ///< Of depth.

/// The unit of a tile whose sum wgmma leaves in a gate's column: a thread gets columns 8 j + 2 (lane % 4) and the next,
/// which become runs of adjacent units.
[[nodiscard]] constexpr std::uint32_t unit_of_column(std::uint32_t column) {
    constexpr std::uint32_t pairs = tensor_run_units / 2;
    const std::uint32_t eight = column / 8;
    const std::uint32_t thread = column % 8 / 2;
    return eight / pairs * (tensor_lane_runs * tensor_run_units) + thread * tensor_run_units + eight % pairs * 2 +
           column % 2;
}

/// The same for scores: groups of four adjacent ones.
[[nodiscard]] constexpr std::uint32_t score_of_column(std::uint32_t column) {
    return column / 16 * 16 + column % 8 / 2 * 4 + column / 8 % 2 * 2 + column % 2;
}

/// Products that are summed: each of a matrix of states, (rows, hidden), and one of weights, (outputs, hidden).
struct TensorMaps {
    CUtensorMap states[most_segments];
    CUtensorMap weights[most_segments];
};

struct TensorArguments {
    std::uint32_t input_segments;  ///< The first of them: products with the layer's input.
    std::uint32_t segments;
    std::uint32_t steps;         ///< Of depth, per segment.
    std::uint32_t tile_columns;  ///< Tiles across all outputs.
    const std::uint32_t* rows;   ///< In device memory: only so many are computed, from the first on.
    std::uint32_t hidden;        ///< Padded.
    const float* bias;           ///< (4, hidden): r, z, n of the input, n of the state; of scores (256).
    const void* table;           ///< Layer 0's InputTable, (256, table_stride), which includes all biases but the last.
    std::uint32_t table_stride;
    const std::uint8_t* symbols;  ///< (rows)
    const void* before;           ///< (parts, most rows, hidden)
    void* after;
    std::size_t part_values;  ///< Values between one part of the states and the next.
    float* scores;            ///< (rows, 256)
    float sum_scale;          ///< Factor of sums of products of states and weights as stored.
};

/// The kernels of a precision.
struct TensorKernels {
    using Function = void (*)(TensorMaps, TensorArguments);

    Function first;    ///< Gates of layer 0.
    Function further;  ///< Gates of the other layers.
    Function scores;
    std::uint32_t threads;
    std::uint32_t gates_shared_bytes;
    std::uint32_t scores_shared_bytes;
};

// One source file each: they take long to compile.
[[nodiscard]] TensorKernels bf16_step_kernels();
[[nodiscard]] TensorKernels fp16_step_kernels();
[[nodiscard]] TensorKernels tf32_step_kernels();
[[nodiscard]] TensorKernels two_part_step_kernels();

}  // namespace sluice::generator

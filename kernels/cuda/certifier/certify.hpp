#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/certifier/recompute.hpp"

namespace sluice {

/// A fast model's results and their margin, in device memory; not owned.
struct Guesses {
    const float* margin;          ///< (classes) offsets, then bound and usual (kernels/margin.hpp)
    const std::int32_t* results;  ///< (items) int32 label, `classes` fp32 scores
    std::uint32_t classes;
    bool scores;  ///< Whether output results hold the scores, too.
};

/// Writes every item's result and selects the items whose label is uncertain.
void enqueue_choose(const RecomputeSizes& sizes, const RecomputeMemory& memory, const Guesses& guesses,
                    cudaStream_t stream);

}  // namespace sluice

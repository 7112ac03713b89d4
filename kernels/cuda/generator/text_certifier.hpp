#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/cuda/recompute.hpp"
#include "kernels/generator.hpp"

namespace sluice::generator {

/// Device memory; not owned.
struct DoubtfulTexts {
    const TextDoubt* bounds;
    const TextDoubt* doubts;     ///< (items)
    GeneratorCounts* retracted;  ///< What the chosen ones have counted is added.
    std::uint32_t max_length;
};

/// Chooses the texts that are not certain.
void enqueue_choose(const RecomputeSizes& sizes, const RecomputeMemory& memory, const DoubtfulTexts& texts,
                    cudaStream_t stream);

}  // namespace sluice::generator

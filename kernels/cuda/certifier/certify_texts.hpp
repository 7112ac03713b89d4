#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/cuda/certifier/recompute.hpp"
#include "kernels/text_certifier.hpp"

namespace sluice {

/// Device memory; not owned.
struct DoubtfulTexts {
    const TextDoubt* bounds;
    const TextDoubt* doubts;  ///< (items)
    TextCounts* retracted;    ///< The selected texts' counts are added.
};

/// Selects the uncertain texts.
void enqueue_choose_texts(const RecomputeSizes& sizes, const RecomputeMemory& memory, const DoubtfulTexts& texts,
                          const TextForm& form, cudaStream_t stream);

}  // namespace sluice

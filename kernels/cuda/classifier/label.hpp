#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/primitives/precision.hpp"

namespace sluice {

/// The last linear layer and the choice of the label: s[c] = bias[c] + sum over i of weights[c][i] * in[i]; the label
/// is the smallest c with s[c] = max over all classes; a NaN never wins against an earlier class.
struct LabelShape {
    std::uint32_t inputs;  ///< A multiple of 8.
    std::uint32_t classes;
    bool scores = false;    ///< Whether results hold s as well.
    std::int32_t mark = 0;  ///< Set in the label if a score is NaN or infinite.
};

/// Device memory; not owned. `in` and `weights` are aligned to 16 bytes.
struct LabelMemory {
    const void* in;        ///< (items, inputs), in the precision
    const float* weights;  ///< (classes, inputs)
    const float* bias;     ///< (classes)
    std::int32_t* out;     ///< (items) results of int32 label and, with scores, `classes` fp32
};

/// Enqueues it for `items` items; allocates nothing. Sums are fp32, in the same order in every run.
void enqueue_labels(const LabelShape& shape, Precision precision, const LabelMemory& memory, std::uint32_t items,
                    cudaStream_t stream);

}  // namespace sluice

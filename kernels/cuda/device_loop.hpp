#pragma once

#include <cuda_runtime_api.h>

#include "core/function_ref.hpp"

namespace sluice {

// A loop whose number of rounds the device decides, in a graph that is being captured.

[[nodiscard]] bool is_capturing(cudaStream_t stream);

/// A condition of the graph that `stream` is being captured to: kernels of it set it with cudaGraphSetConditional(). It
/// is 0 each time that the graph starts.
[[nodiscard]] cudaGraphConditionalHandle make_condition(cudaStream_t stream);

/// Adds to the graph that `stream` is being captured to: as long as `condition` is not 0, what `body` enqueues on
/// `inner`, another stream, which nothing is running on. `body` may enqueue a loop on `inner`, with a condition and an
/// inner stream of its own.
void enqueue_while(cudaStream_t stream, cudaGraphConditionalHandle condition, cudaStream_t inner,
                   FunctionRef<void()> body);

}  // namespace sluice

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/function_ref.hpp"

namespace sluice {

/// What decides whether a loop has another round: Stream::loop().
struct CudaLoop {
    const std::uint32_t* more;
    std::uint32_t most_rounds;
    std::uint32_t* rounds;  ///< Device memory for the loop itself: how many are over.
};

/// Whether what is enqueued on `stream` becomes part of a graph.
[[nodiscard]] bool is_capturing(cudaStream_t stream);

/// Adds a loop to the graph that `stream` is being captured to. A round is what `body` enqueues on `inner`, another
/// stream, which nothing runs on; with a loop in it on a third one.
void enqueue_loop(cudaStream_t stream, const CudaLoop& loop, cudaStream_t inner, FunctionRef<void()> body);

}  // namespace sluice

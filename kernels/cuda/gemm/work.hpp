#pragma once

#include <cuda_runtime_api.h>

#include "core/interface.hpp"

namespace sluice::gemm {

/// A product that is ready to be enqueued.
class Work : public Interface {
public:
    /// Allocates nothing. Throws Error as check_cuda() if the launch fails.
    virtual void enqueue(cudaStream_t stream) const = 0;
};

}  // namespace sluice::gemm

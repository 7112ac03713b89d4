#pragma once

#include <cuda_runtime_api.h>

namespace sluice::gemm {

/// A product that is ready to be enqueued.
class Work {
public:
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    virtual ~Work() = default;

    /// Allocates nothing. Throws Error as check_cuda() if the launch fails.
    virtual void enqueue(cudaStream_t stream) const = 0;
};

}  // namespace sluice::gemm

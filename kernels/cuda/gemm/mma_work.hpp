#pragma once

#include <cuda_runtime_api.h>

namespace sluice::gemm {

/// A product by mma.sync that is ready to be enqueued.
class MmaWork {
public:
    MmaWork() = default;
    MmaWork(const MmaWork&) = delete;
    MmaWork& operator=(const MmaWork&) = delete;
    virtual ~MmaWork() = default;

    /// Allocates nothing. Throws Error as check_cuda() when CUDA does not take it.
    virtual void enqueue(cudaStream_t stream) const = 0;
};

}  // namespace sluice::gemm

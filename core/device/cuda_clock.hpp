#pragma once

#include <cuda_runtime_api.h>

#include "core/clock.hpp"

namespace sluice {

/// Times of a GPU's events on the host's clock. Used by the thread that drives the GPU.
class CudaClock {
public:
    CudaClock();
    ~CudaClock();
    CudaClock(const CudaClock&) = delete;
    CudaClock& operator=(const CudaClock&) = delete;

    /// When `event`, which is done and was made with timing, was reached: within about 10 us of the truth.
    [[nodiscard]] Instant time_of(cudaEvent_t event);

private:
    void set_anchor();

    cudaStream_t stream_ = nullptr;
    cudaEvent_t anchor_ = nullptr;
    cudaEvent_t spare_ = nullptr;
    Instant anchor_time_{};
};

}  // namespace sluice

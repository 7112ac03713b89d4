#include "core/device/cuda_clock.hpp"

#include <chrono>
#include <utility>

#include "core/device/cuda_error.hpp"

namespace sluice {
namespace {

constexpr int anchor_rounds = 5;

// CUDA gives differences as fp32 milliseconds, and the two clocks drift apart by some parts in a million.
constexpr std::chrono::seconds anchor_life{4};

}  // namespace

CudaClock::CudaClock() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaEventCreate(&anchor_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&spare_), "cudaEventCreate");
    set_anchor();
}

CudaClock::~CudaClock() {
    cudaEventDestroy(anchor_);
    cudaEventDestroy(spare_);
    cudaStreamDestroy(stream_);
}

/// The quickest of a few rounds bounds the error by half its length.
void CudaClock::set_anchor() {
    std::chrono::nanoseconds shortest = std::chrono::nanoseconds::max();
    for (int i = 0; i < anchor_rounds; ++i) {
        const Instant before = Clock::now();
        check_cuda(cudaEventRecord(spare_, stream_), "cudaEventRecord");
        check_cuda(cudaEventSynchronize(spare_), "cudaEventSynchronize");
        const std::chrono::nanoseconds took = Clock::now() - before;
        if (took < shortest) {
            shortest = took;
            anchor_time_ = before + took / 2;
            std::swap(anchor_, spare_);
        }
    }
}

Instant CudaClock::time_of(cudaEvent_t event) {
    if (Clock::now() - anchor_time_ > anchor_life) {
        set_anchor();
    }
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, anchor_, event), "cudaEventElapsedTime");
    return anchor_time_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace sluice

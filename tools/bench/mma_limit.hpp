#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice::bench {

/// Products by mma.sync from registers only, on every multiprocessor of the current device: the upper limit of kernels
/// with these instructions. Operands are random, as the clock depends on them.
class MmaLimit {
public:
    explicit MmaLimit(Precision precision);

    void enqueue(cudaStream_t stream) const;
    [[nodiscard]] double flop() const noexcept;  ///< Per call.

private:
    Precision precision_;
    std::uint32_t blocks_;
    DeviceMemory out_{sizeof(float)};
};

}  // namespace sluice::bench

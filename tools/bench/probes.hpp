#pragma once

#include <cuda_runtime_api.h>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"

/// The parts of bench_probes; each prints what it measures on the current device.
namespace sluice::bench {

/// Each tile of Gemm at the shapes of models, beside cuBLASLt.
void time_tiles(cudaStream_t stream);

/// A product on some multiprocessors while others read memory.
void time_beside(cudaStream_t stream);

/// What a round of a loop on the device costs, beside the same kernels without a loop.
void time_loop(CudaDevice& gpu, CudaStream& stream);

}  // namespace sluice::bench

#pragma once

#include <cuda_runtime_api.h>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_stream.hpp"

/// The parts of bench_probes; each prints its measurements on the current device.
namespace sluice::bench {

/// Gemm for the models' shapes, or for those of the larger GPT-2's: the chosen tile beside cuBLASLt, and every other
/// one beside the chosen.
void time_tiles(bool of_larger, cudaStream_t stream);

/// A product on some multiprocessors while others read memory.
void time_beside(cudaStream_t stream);

/// Cost of a round of a loop on the device, beside the same kernels without a loop.
void time_loop(CudaDevice& gpu, CudaStream& stream);

}  // namespace sluice::bench

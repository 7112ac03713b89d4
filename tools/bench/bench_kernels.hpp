#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/primitives/precision.hpp"

namespace sluice::bench {

/// Compares every convolution, as run on `gpu`, with a plain one in double on random data; prints a line each; false if
/// one is wrong.
bool check_convolutions(const CudaDevice& gpu, Precision precision);

/// Times every convolution, with every kernel for `gpu`, alternating with cuBLAS' product of the same size.
void time_convolutions(const CudaDevice& gpu, Precision precision, cudaStream_t stream);

/// Times the linear layers alternately by cuBLASLt and by the convolutions' kernel, and compares their results.
void time_linears(const CudaDevice& gpu, Precision precision, cudaStream_t stream);

/// Times linear layers with cuBLASLt's choice for each number of items, and batch-invariant; prints a line each.
void time_invariant_linears(Precision precision, cudaStream_t stream);

/// Compares the whole forward pass with one in double; prints a line.
bool check_forward(const CudaDevice& gpu, Precision precision);

/// Times the whole pass and its steps for `sizes` items.
void time_forward(const CudaDevice& gpu, Precision precision, std::span<const std::uint32_t> sizes,
                  cudaStream_t stream);

}  // namespace sluice::bench

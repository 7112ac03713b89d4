#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "core/device/cuda_device.hpp"
#include "kernels/cuda/precision.hpp"

namespace sluice::bench {

/// Compares every convolution, as `gpu` runs it, with a plain one in double on random data; prints a line each; false
/// if one is off.
bool check_convolutions(const CudaDevice& gpu, Precision precision);

/// Times them, by every kernel that `gpu` runs, beside cuBLAS' product of the same size, in turn.
void time_convolutions(const CudaDevice& gpu, Precision precision, cudaStream_t stream);

/// Times the linear layers by cuBLASLt and by the convolutions' kernel, in turn, and compares what they compute.
void time_linears(const CudaDevice& gpu, Precision precision, cudaStream_t stream);

/// Times linear layers as cuBLASLt chooses for each number of items, and batch-invariant; prints a line each.
void time_invariant_linears(Precision precision, cudaStream_t stream);

/// The whole forward pass against one in double; prints a line.
bool check_forward(const CudaDevice& gpu, Precision precision);

/// Times the whole pass, and its steps, at these numbers of items.
void time_forward(const CudaDevice& gpu, Precision precision, std::span<const std::uint32_t> sizes,
                  cudaStream_t stream);

}  // namespace sluice::bench

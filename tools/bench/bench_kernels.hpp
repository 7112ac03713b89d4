#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "kernels/cuda/precision.hpp"

namespace sluice::bench {

/// Compares every convolution with a plain one in double on random data; prints a line each; false if one is off.
bool check_convolutions(Precision precision);

/// Times them beside cuBLAS' product of the same size, in turn.
void time_convolutions(Precision precision, cudaStream_t stream);

/// The whole forward pass against one in double; prints a line.
bool check_forward(Precision precision);

/// Times the whole pass, and its steps, at these numbers of items.
void time_forward(Precision precision, std::span<const std::uint32_t> sizes, cudaStream_t stream);

}  // namespace sluice::bench

#pragma once

#include "kernels/kernels.hpp"

namespace sluice {

/// The families of kernels for GPUs in one precision, other than certified. Valid until the program ends. Throw Error
/// (unavailable) in a build without CUDA.
[[nodiscard]] const Kernels& cuda_kernels(Precision precision);
[[nodiscard]] const GeneratorKernels& cuda_generator_kernels(Precision precision);
[[nodiscard]] const DecoderKernels& cuda_decoder_kernels(Precision precision);

}  // namespace sluice

#pragma once

#include "kernels/kernels.hpp"

namespace sluice {

/// The families in one precision, other than certified. They stay until the program ends. Throw Error (unavailable)
/// when this build has none.
[[nodiscard]] const Kernels& cuda_kernels(Precision precision);
[[nodiscard]] const GeneratorKernels& cuda_generator_kernels(Precision precision);
[[nodiscard]] const DecoderKernels& cuda_decoder_kernels(Precision precision);

}  // namespace sluice

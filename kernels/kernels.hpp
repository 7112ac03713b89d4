#pragma once

#include "core/modes.hpp"
#include "kernels/certifier.hpp"
#include "kernels/convolution.hpp"
#include "kernels/decoder.hpp"
#include "kernels/dense.hpp"
#include "kernels/generator.hpp"

namespace sluice {

/// Every operation a model may enqueue, in one backend and precision, by family. All tensors are row-major; where a
/// family documents fp32, tensors between layers are in the backend's precision: Layer::shape() gives their bytes.
/// Weights are in PyTorch's order and stay the caller's; layers reserve room in `packed` and read the weights when it
/// is packed.
struct Kernels {
    const ConvolutionKernels& convolution;
    const DenseKernels& dense;
    const CertifierKernels& certifier;
};

/// The backend for devices of `kind` (not automatic) and `precision`: fp32 or, after limit_host_instructions(amx), bf16
/// on the host, and never certified, which is three models. Throws Error (unavailable) when this build has none.
[[nodiscard]] const Kernels& kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

/// The same for generators; tf32x3 has its parts in fp16. A GRU in fp32 writes the same texts on all devices.
[[nodiscard]] const GeneratorKernels& generator_kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

/// The same for decoders; tf32x3 has its parts in fp16, fp16x2 in fp16 and e4m3. In fp32 scores are bitwise equal on
/// all devices. Throw Error (unavailable): make_decoder() in tf32x3, fp16x2 and fp8 where the GPU or the build has no
/// wgmma; decoder() for sizes that a precision has no kernels for.
[[nodiscard]] const DecoderKernels& decoder_kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

}  // namespace sluice

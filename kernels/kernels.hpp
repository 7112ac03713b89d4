#pragma once

#include "core/modes.hpp"
#include "kernels/certifier.hpp"
#include "kernels/convolution.hpp"
#include "kernels/decoder.hpp"
#include "kernels/dense.hpp"
#include "kernels/generator.hpp"

namespace sluice {

/// Every operation a model may enqueue, in one backend and precision, by family. All tensors are row-major and, where a
/// family says fp32, in the backend's precision between the layers: Layer::shape() has the bytes. Weights come in the
/// order that PyTorch writes them and stay the caller's; layers reserve their room in `packed` and read the weights
/// when that is packed.
struct Kernels {
    const ConvolutionKernels& convolution;
    const DenseKernels& dense;
    const CertifierKernels& certifier;
};

/// The backend for devices of `kind`, which is not automatic, and `precision`, which is fp32 on the host and never
/// certified: that is three models. Throws Error (unavailable) when this build has none.
[[nodiscard]] const Kernels& kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

/// The same for generators; of tf32x3 parts are in fp16. A GRU in fp32 writes the same texts on all devices.
[[nodiscard]] const GeneratorKernels& generator_kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

/// The same for decoders; of tf32x3 parts are in fp16. In fp32 they compute the same scores on all devices, bit for
/// bit. Where the GPU or the build has no wgmma, tf32x3 cannot make_decoder(); decoder() throws Error (unavailable) for
/// sizes that another precision has no kernels for.
[[nodiscard]] const DecoderKernels& decoder_kernels_of(DeviceKind kind, Precision precision = Precision::fp32);

}  // namespace sluice

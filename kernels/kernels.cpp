#include "kernels/kernels.hpp"

#include "core/error.hpp"
#include "kernels/cuda_kernels.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sluice {

const Kernels& kernels_of(DeviceKind kind, Precision precision) {
    expects(kind != DeviceKind::automatic, "kernels_of: a device that is not chosen yet");
    expects(precision != Precision::certified, "kernels_of: certified is three models, not one");
    if (kind == DeviceKind::cuda) {
        return cuda_kernels(precision);
    }
    expects(precision == Precision::fp32, "kernels_of: the host computes in fp32 alone");
    return host_kernels();
}

const GeneratorKernels& generator_kernels_of(DeviceKind kind) {
    expects(kind == DeviceKind::host, "generator_kernels_of: only the host has them");
    return host_generator_kernels();
}

const DecoderKernels& decoder_kernels_of(DeviceKind kind) {
    expects(kind == DeviceKind::host, "decoder_kernels_of: only the host has them");
    return host_decoder_kernels();
}

}  // namespace sluice

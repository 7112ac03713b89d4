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

const GeneratorKernels& generator_kernels_of(DeviceKind kind, Precision precision) {
    expects(kind != DeviceKind::automatic, "generator_kernels_of: a device that is not chosen yet");
    expects(precision != Precision::certified, "generator_kernels_of: certified is no precision of one model");
    if (kind == DeviceKind::cuda) {
        return cuda_generator_kernels(precision);
    }
    expects(precision == Precision::fp32, "generator_kernels_of: the host computes in fp32 only");
    return host_generator_kernels();
}

const DecoderKernels& decoder_kernels_of(DeviceKind kind, Precision precision) {
    expects(kind != DeviceKind::automatic, "decoder_kernels_of: a device that is not chosen yet");
    expects(precision != Precision::certified, "decoder_kernels_of: certified is no precision of one model");
    if (kind == DeviceKind::cuda) {
        return cuda_decoder_kernels(precision);
    }
    expects(precision == Precision::fp32, "decoder_kernels_of: the host computes in fp32 only");
    return host_decoder_kernels();
}

}  // namespace sluice

#include "kernels/kernels.hpp"

#include "core/error.hpp"
#include "kernels/cuda_kernels.hpp"
#include "kernels/host/host_kernels.hpp"

namespace sluice {
namespace {

/// Whether a GPU's kernels compute in `precision`, not the host's.
bool on_gpu(DeviceKind kind, Precision precision) {
    expects(kind != DeviceKind::automatic, "kernels of a device that is not chosen yet");
    expects(precision != Precision::certified, "kernels of one precision: certified is several models");
    return kind == DeviceKind::cuda;
}

}  // namespace

const Kernels& kernels_of(DeviceKind kind, Precision precision) {
    return on_gpu(kind, precision) ? cuda_kernels(precision) : host_kernels(precision);
}

const GeneratorKernels& generator_kernels_of(DeviceKind kind, Precision precision) {
    return on_gpu(kind, precision) ? cuda_generator_kernels(precision) : host_generator_kernels(precision);
}

const DecoderKernels& decoder_kernels_of(DeviceKind kind, Precision precision) {
    return on_gpu(kind, precision) ? cuda_decoder_kernels(precision) : host_decoder_kernels(precision);
}

}  // namespace sluice

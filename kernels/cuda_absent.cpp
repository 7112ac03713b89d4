#include "core/error.hpp"
#include "kernels/cuda_kernels.hpp"

namespace sluice {
namespace {

[[noreturn]] void refuse_cuda() {
    throw Error(ExitCode::unavailable, {.id = "E-GPU-063",
                                        .where = "run.device",
                                        .what = "this sluice was built without CUDA, and has no kernels for it",
                                        .hint = "set run.device = \"host\", or build with the preset 'cuda'"});
}

}  // namespace

const Kernels& cuda_kernels(Precision) {
    refuse_cuda();
}

const GeneratorKernels& cuda_generator_kernels(Precision) {
    refuse_cuda();
}

const DecoderKernels& cuda_decoder_kernels(Precision) {
    refuse_cuda();
}

}  // namespace sluice

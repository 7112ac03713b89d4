#include "kernels/cuda/generator/tensor_kernel.cuh"

namespace sluice::generator {

TensorKernels fp16_step_kernels() {
    return make_step_kernels<Fp16Numbers>();
}

}  // namespace sluice::generator

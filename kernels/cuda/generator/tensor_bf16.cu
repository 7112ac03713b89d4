#include "kernels/cuda/generator/tensor_kernel.cuh"

namespace sluice::generator {

TensorKernels bf16_step_kernels() {
    return make_step_kernels<Bf16Numbers>();
}

}  // namespace sluice::generator

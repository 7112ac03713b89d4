#include "kernels/cuda/generator/tensor_kernel.cuh"

namespace sluice::generator {

TensorKernels tf32_step_kernels() {
    return make_step_kernels<Tf32Numbers>();
}

}  // namespace sluice::generator

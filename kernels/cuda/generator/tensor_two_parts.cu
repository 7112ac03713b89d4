#include "kernels/cuda/generator/tensor_kernel.cuh"

namespace sluice::generator {

TensorKernels two_part_step_kernels() {
    return make_step_kernels<TwoPartNumbers>();
}

}  // namespace sluice::generator

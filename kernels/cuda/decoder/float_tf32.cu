#include "kernels/cuda/decoder/float_kernel.cuh"

namespace sluice::decoder {

const FloatProductKernel& tf32_float_product() {
    using C = gemm::Config<2, 1, 128, 5, 1, 2, 1>;
    static const FloatProductKernel kernel{
        .values = &multiply_to_floats<wgmma::Tf32, C, false>,
        .bests = nullptr,
        .tile = {.rows = C::rows, .columns = C::columns, .cluster_rows = C::cluster_rows},
        .step_depth = gemm::step_bytes / 4,
        .threads = C::threads,
        .shared_bytes = C::shared_bytes};
    return kernel;
}

}  // namespace sluice::decoder

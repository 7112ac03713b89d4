#include "kernels/cuda/gemm/fp8_ping_pong.hpp"

#include "core/error.hpp"
#include "kernels/cuda/gemm/fp8_wgmma.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"

namespace sluice::gemm {
namespace {

template <class C, Results results>
GemmKernel::Kernel make_fp8_kernel() {
    return make_product_kernel<C>(&multiply<wgmma::E4m3, C, StepLoader<C>, BoxEpilogue<__nv_bfloat16, C, results>>);
}

}  // namespace

GemmKernel::Kernel fp8_ping_pong(std::uint32_t columns, Results results) {
    using Large = Config<2, 2, 192, 4, 3, 2, 1, true>;
    using Small = Config<2, 2, 128, 5, 4, 1, 1, true>;
    const bool is_large = columns == Large::columns;
    switch (results) {
        case Results::values:
            return is_large ? make_fp8_kernel<Large, Results::values>() : make_fp8_kernel<Small, Results::values>();
        case Results::codes_by_tanh:
            return is_large ? make_fp8_kernel<Large, Results::codes_by_tanh>()
                            : make_fp8_kernel<Small, Results::codes_by_tanh>();
        case Results::codes_by_erf:
            return is_large ? make_fp8_kernel<Large, Results::codes_by_erf>()
                            : make_fp8_kernel<Small, Results::codes_by_erf>();
        case Results::gated:
            break;
    }
    expects(is_large, "product of e4m3: gates in another tile");
    return make_fp8_kernel<Large, Results::gated>();
}

}  // namespace sluice::gemm

// 0, oneDNN, on one core: what the others are measured by.
#include <dnnl.h>
#include <omp.h>

#include "core/error.hpp"
#include "tools/bench/ladder/host/rungs.hpp"

namespace sluice::ladder::host {

void multiply_library(const Matrices& x) {
    const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const dnnl_status_t status = dnnl_sgemm('N', 'N', size(x.m), size(x.n), size(x.k), 1.0F, x.a, size(x.k), x.b,
                                            size(x.n), 0.0F, x.out, size(x.n));
    omp_set_num_threads(before);
    expects(status == dnnl_success, "ladder: oneDNN refused a product");
}

}  // namespace sluice::ladder::host

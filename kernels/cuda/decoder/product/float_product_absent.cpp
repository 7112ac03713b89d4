#include "core/error.hpp"
#include "kernels/cuda/decoder/product/work.hpp"

namespace sluice::decoder {

FloatProductWork make_wgmma_float_product(const FloatProductShape&, Precision, const FloatProductMemory&) {
    throw ContractViolation("decoder: wgmma in a build without code for sm_90a");
}

}  // namespace sluice::decoder

#include "core/error.hpp"
#include "kernels/cuda/decoder/prompts/attending_product.hpp"

namespace sluice::decoder {

AttendingProduct::AttendingProduct(const Memory&, Precision, const AttendingLayer&, const GemmShape&, const GemmMemory&,
                                   const float*) {
    throw ContractViolation("attending product: not in this build");
}

}  // namespace sluice::decoder

#pragma once

#include <memory>

#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/cuda/gemm/mma_work.hpp"

namespace sluice::decoder {

/// FloatProduct by mma.sync, of what it takes.
[[nodiscard]] std::shared_ptr<const gemm::MmaWork> make_mma_float_product(const FloatProductShape& shape,
                                                                          Precision precision,
                                                                          const FloatProductMemory& memory);

}  // namespace sluice::decoder

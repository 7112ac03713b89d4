#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/decoder/product/float_product.hpp"
#include "kernels/cuda/gemm/work.hpp"

namespace sluice::decoder {

struct FloatProductWork {
    std::shared_ptr<const gemm::Work> work;
    std::uint32_t tile_columns;
};

/// FloatProduct by wgmma. Throws ContractViolation in a build without code for sm_90a.
[[nodiscard]] FloatProductWork make_wgmma_float_product(const FloatProductShape& shape, Precision precision,
                                                        const FloatProductMemory& memory);

/// FloatProduct by mma.sync. Throws ContractViolation for tf32x3 and fp16x2.
[[nodiscard]] FloatProductWork make_mma_float_product(const FloatProductShape& shape, Precision precision,
                                                      const FloatProductMemory& memory);

}  // namespace sluice::decoder

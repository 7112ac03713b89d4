#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/decoder/float_product.hpp"
#include "kernels/cuda/gemm/mma_work.hpp"

namespace sluice::decoder {

struct MmaFloatProduct {
    std::shared_ptr<const gemm::MmaWork> work;
    std::uint32_t tile_columns;
};

/// FloatProduct by mma.sync, of what it takes.
[[nodiscard]] MmaFloatProduct make_mma_float_product(const FloatProductShape& shape, Precision precision,
                                                     const FloatProductMemory& memory);

}  // namespace sluice::decoder

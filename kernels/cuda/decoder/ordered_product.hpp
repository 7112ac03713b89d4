#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/generator/product.hpp"

namespace sluice::decoder {

/// generator::Product, bit for bit, and what a decoder does with it, in one kernel. Shapes are padded as those.
struct OrderedProduct {
    generator::Product product;  ///< Where `sums` is given, `out` is open afterwards.
    bool gelu = false;           ///< Of what it writes; not with `sums`.
    float* sums = nullptr;       ///< (rows, columns); if not null, the product is added to what is there.
};

void enqueue_ordered_product(const OrderedProduct& ordered, cudaStream_t stream);

}  // namespace sluice::decoder

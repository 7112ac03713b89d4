#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sluice::generator {

inline constexpr std::uint32_t product_rows = 128;  ///< Rows and columns are multiples of these.
inline constexpr std::uint32_t product_columns = 128;
inline constexpr std::uint32_t product_depth = 16;

/// out[m][n] = bias[n] + sum over k of in[m][k] * weights[k][n], added up as the host does: a chain of fused
/// multiply-adds in the order of k, cut after each 512 of them.
struct Product {
    const float* in;       ///< (rows, depth)
    const float* weights;  ///< (depth, columns)
    const float* bias;     ///< (columns)
    float* out;            ///< (rows, columns)
    std::uint32_t most_rows;
    std::uint32_t columns;
    std::uint32_t depth;
    const std::uint32_t* rows;  ///< Device memory: the first ones count, of the others' tiles some are left out.
};

void enqueue_product(const Product& product, cudaStream_t stream);

}  // namespace sluice::generator

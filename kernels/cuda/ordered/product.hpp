#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Products in fp32 with the host's results, bit for bit.
namespace sluice::ordered {

inline constexpr std::uint32_t product_rows = 128;  ///< Rows and columns are multiples of these.
inline constexpr std::uint32_t product_columns = 128;
inline constexpr std::uint32_t product_depth = 16;

enum class Tiles : std::uint8_t {
    large,    ///< 96 by 128.
    by_rows,  ///< Smaller where `*rows` are few.
};

/// out[m][n] = bias[n] + sum over k of in[m][k] * weights[k][n], added up as the host does: a chain of fused
/// multiply-adds in the order of k, cut after each 512 of them.
struct Product {
    const float* in;       ///< (rows, depth)
    const float* weights;  ///< (depth, columns)
    const float* bias;     ///< (columns)
    float* out;            ///< (rows, columns). With `sums` work space: unspecified afterwards.
    std::uint32_t most_rows;
    std::uint32_t columns;
    std::uint32_t depth;
    const std::uint32_t* rows;  ///< In device memory: so many rows are computed, and the rest of a tile.
    Tiles tiles = Tiles::large;
    bool gelu = false;      ///< Applied to `out`; not with `sums`.
    float* sums = nullptr;  ///< (rows, columns); if not null, the product is added to what is there.
};

/// Enqueues the product; it may start while the kernel before it ends. Throws ContractViolation when a shape is not
/// padded.
void enqueue_product(const Product& product, cudaStream_t stream);

}  // namespace sluice::ordered

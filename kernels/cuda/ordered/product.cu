#include "kernels/cuda/ordered/product.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/ordered/tile_product.cuh"
#include "kernels/cuda/primitives/ptx.cuh"

namespace sluice::ordered {

// Where rows are many each value that a thread reads should serve many sums; where they are few, all multiprocessors
// should have tiles, and where they are least, all of a sum's chains should be added up at a time.
using ManyRows = ProductTile<3, 2, 2, 2, 1, 3>;           // 96 by 128
using FewRows = ProductTile<2, 1, 1, 2, 2, 4>;            // 32 by 64
using FewRowsAndColumns = ProductTile<1, 1, 1, 2, 2, 4>;  // 16 by 64
using LeastRows = ProductTile<1, 1, 1, 1, 6, 2>;          // 16 by 32
constexpr std::uint32_t few_product_rows = 512;
constexpr std::uint32_t least_product_rows = 128;
constexpr std::uint32_t few_product_columns = 256;
constexpr std::uint32_t few_product_blocks = 2 * hopper_multiprocessors;  // each with some tiles

/// Numbers of rows that a kernel has a tile for; with others it does nothing.
struct RowRange {
    std::uint32_t above = 0;
    std::uint32_t up_to = UINT32_MAX;
};

template <class Tile, End end>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    multiply_in_order(const __grid_constant__ Product product, RowRange range) {
    extern __shared__ float4 product_memory[];
    ptx::let_next_kernel_start();
    ptx::wait_for_previous_kernel();
    const std::uint32_t rows = *product.rows;
    if (rows <= range.above || rows > range.up_to) {
        return;
    }
    const std::uint32_t tile_columns = product.columns / Tile::columns;
    const std::uint32_t tiles = (rows + Tile::rows - 1) / Tile::rows * tile_columns;
    TileProduct<Tile, end> work(product, product_memory);
    const auto multiply = [&](std::uint32_t tile) {
        const std::uint32_t first = tile / tile_columns * Tile::rows;
        const std::uint32_t begin = Tile::divides_rows ? first : min(first, product.most_rows - Tile::rows);
        work.multiply(begin, first - begin, tile % tile_columns * Tile::columns);
    };
    if constexpr (Tile::loops_over_tiles) {
        for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            multiply(tile);
        }
    } else if (blockIdx.x < tiles) {
        multiply(blockIdx.x);
    }
}

template <class Tile, End end>
void enqueue_tiles(const Product& product, const RowRange& range, cudaStream_t stream) {
    constexpr std::uint32_t shared_bytes = Tile::shared_floats * sizeof(float);
    allow_shared_bytes(&multiply_in_order<Tile, end>, shared_bytes);
    const std::uint32_t most_rows = std::min(product.most_rows, range.up_to);
    const std::uint32_t tiles = (most_rows + Tile::rows - 1) / Tile::rows * (product.columns / Tile::columns);
    launch(&multiply_in_order<Tile, end>, "product in order",
           {.blocks = Tile::loops_over_tiles ? std::min(tiles, few_product_blocks) : tiles,
            .threads = Tile::threads,
            .shared_bytes = shared_bytes,
            .chained = true},
           stream, product, range);
}

template <End end>
void enqueue_ending_in(const Product& product, cudaStream_t stream) {
    if (product.tiles == Tiles::large) {
        enqueue_tiles<ManyRows, end>(product, {}, stream);
        return;
    }
    enqueue_tiles<LeastRows, end>(product, {.up_to = least_product_rows}, stream);
    constexpr RowRange few{.above = least_product_rows, .up_to = few_product_rows};
    if (product.most_rows <= least_product_rows) {
        return;
    }
    if (product.columns > few_product_columns) {
        enqueue_tiles<FewRows, end>(product, few, stream);
    } else {
        enqueue_tiles<FewRowsAndColumns, end>(product, few, stream);
    }
    if (product.most_rows > few_product_rows) {
        enqueue_tiles<ManyRows, end>(product, {.above = few_product_rows}, stream);
    }
}

void enqueue_product(const Product& product, cudaStream_t stream) {
    expects(product.most_rows % product_rows == 0 && product.columns % product_columns == 0 &&
                product.depth % product_depth == 0 && product.depth > 0,
            "product in order: a shape that is not padded");
    expects(!product.gelu || product.sums == nullptr, "product in order: GELU and sums are not together");
    if (product.gelu) {
        enqueue_ending_in<End::gelu>(product, stream);
    } else if (product.sums != nullptr) {
        enqueue_ending_in<End::sums>(product, stream);
    } else {
        enqueue_ending_in<End::values>(product, stream);
    }
}

}  // namespace sluice::ordered

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/error.hpp"
#include "kernels/cuda/clusters.hpp"
#include "kernels/cuda/gemm/gemm.hpp"
#include "kernels/cuda/gemm/gemm_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/gemm/requirements.hpp"
#include "kernels/cuda/gemm/work.hpp"
#include "kernels/cuda/launch.hpp"

/// Launches of products.
namespace sluice::gemm {

[[nodiscard]] constexpr std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

/// Arguments of Gemm's kernels, without tiles.
[[nodiscard]] inline Arguments arguments_of(const GemmShape& shape, const GemmMemory& memory,
                                            const GemmOptions& options, std::uint32_t steps) {
    return {.bias = memory.bias,
            .active = memory.active,
            .columns = shape.columns,
            .steps = steps,
            .activation = shape.activation,
            .residual = memory.residual != nullptr,
            .chained = options.chained,
            .row_scales = memory.row_scales,
            .rows = shape.rows,
            .norm = memory.norm,
            .out_sums = memory.out_sums};
}

/// A product by one kernel on the current device.
template <class Operands, class Target>
class Product final : public Work {
public:
    /// Sets the arguments' tiles. `clusters`: that run at a time.
    Product(const ProductKernel<Operands, Target>& kernel, const char* name, const Arguments& arguments,
            const Operands& operands, const Target& target, std::uint32_t clusters)
        : kernel_(kernel), name_(name), arguments_(arguments), operands_(operands), target_(target) {
        const GemmTile& tile = kernel.tile;
        arguments_.tile_rows = divide_up(arguments.rows, tile.rows * tile.cluster_rows);
        arguments_.tile_columns = divide_up(arguments.columns, tile.columns * tile.cluster_columns);
        const std::uint64_t tiles = std::uint64_t{arguments_.tile_rows} * arguments_.tile_columns;
        expects(tiles <= 0x7FFFFFFF, "product: more tiles than a kernel counts");
        const auto at_once = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, clusters));
        arguments_.group_rows = gemm_group_rows(tile, arguments_.tile_rows, at_once);
        blocks_ = at_once * tile.cluster_rows * tile.cluster_columns;
    }

    void enqueue(cudaStream_t stream) const override {
        launch(kernel_.function, name_,
               {.blocks = blocks_,
                .threads = kernel_.threads,
                .shared_bytes = kernel_.shared_bytes,
                .chained = arguments_.chained},
               stream, arguments_, operands_, target_);
    }

private:
    ProductKernel<Operands, Target> kernel_;
    const char* name_;
    Arguments arguments_;
    Operands operands_;
    Target target_;
    std::uint32_t blocks_ = 0;
};

/// A product by wgmma on at most `multiprocessors`; 0: all.
template <class Operands, class Target>
std::shared_ptr<const Work> make_wgmma_product(const ProductKernel<Operands, Target>& kernel, const char* name,
                                               const Arguments& arguments, const Operands& operands,
                                               const Target& target, std::uint32_t multiprocessors = 0) {
    const std::uint32_t cluster = kernel.tile.cluster_rows * kernel.tile.cluster_columns;
    const std::uint32_t most = multiprocessors_or_all(multiprocessors);
    const std::uint32_t clusters =
        count_clusters(reinterpret_cast<const void*>(kernel.function),
                       {.blocks = cluster, .threads = kernel.threads, .shared_bytes = kernel.shared_bytes});
    return std::make_shared<Product<Operands, Target>>(kernel, name, arguments, operands, target,
                                                       std::min(clusters, std::max(most / cluster, 1U)));
}

}  // namespace sluice::gemm

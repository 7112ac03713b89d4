#include "kernels/cuda/gemm/fp8_gemm.hpp"

#include <algorithm>

#include "core/device/cuda_device.hpp"
#include "core/device/cuda_error.hpp"
#include "core/error.hpp"
#include "kernels/cuda/clusters.hpp"
#include "kernels/cuda/gemm/fp8_kernel.cuh"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/tensor_map.hpp"

namespace sluice {
namespace {

struct Fp8Kernel {
    void (*function)(CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap, gemm::Arguments, const float*);
    GemmTile tile;
    std::uint32_t threads;
    std::uint32_t shared_bytes;
};

template <class C>
constexpr Fp8Kernel make_fp8_kernel() {
    return {.function = &gemm::multiply_fp8<C>,
            .tile = {.rows = C::rows,
                     .columns = C::columns,
                     .cluster_rows = C::cluster_rows,
                     .cluster_columns = C::cluster_columns},
            .threads = C::threads,
            .shared_bytes = C::shared_bytes};
}

const Fp8Kernel& fp8_kernel(std::size_t tile) {
    static const std::array<Fp8Kernel, fp8_gemm_tiles.size()> kernels{
        make_fp8_kernel<gemm::Config<2, 1, 192, 4, 3, 2, 1>>(), make_fp8_kernel<gemm::Config<2, 1, 128, 6, 2>>()};
    expects(tile < kernels.size() && kernels[tile].tile == fp8_gemm_tiles[tile], "product of e4m3: no such tile");
    return kernels[tile];
}

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

std::uint32_t count_multiprocessors() {
    int device = 0;
    int count = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return static_cast<std::uint32_t>(count);
}

/// That of least work for the busiest multiprocessor, the first of equal ones.
std::size_t choose_fp8_tile(const GemmShape& shape, std::uint32_t multiprocessors) {
    const auto work = [&](const GemmTile& tile) {
        const std::uint32_t cluster = tile.cluster_rows * tile.cluster_columns;
        const std::uint64_t tiles = std::uint64_t{divide_up(shape.rows, tile.rows * tile.cluster_rows)} *
                                    divide_up(shape.columns, tile.columns * tile.cluster_columns);
        const std::uint64_t at_once = std::max(multiprocessors / cluster, 1U);
        return (tiles + at_once - 1) / at_once * tile.rows * tile.columns;
    };
    return static_cast<std::size_t>(std::ranges::min_element(fp8_gemm_tiles, {}, work) - fp8_gemm_tiles.begin());
}

bool aligned_for_copies(const void* pointer) {
    constexpr std::uintptr_t alignment = 16;
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

void check_product(const GemmShape& shape, const Fp8GemmMemory& memory) {
    constexpr std::uint32_t most = 1U << 30;  // the copy engine's coordinates have a sign
    expects(shape.columns > 0 && shape.columns % 8 == 0 && shape.depth > 0 && shape.depth % 16 == 0,
            "product of e4m3: columns are a multiple of 8, depth is one of 16");
    expects(shape.rows <= most && shape.columns <= most && shape.depth <= most, "product of e4m3: too large");
    const void* const all[] = {memory.a,    memory.b,        memory.a_scales, memory.b_scales,
                               memory.bias, memory.residual, memory.out};
    expects(memory.a_scales != nullptr && memory.b_scales != nullptr, "product of e4m3: rows and columns have scales");
    expects(std::ranges::all_of(all, &aligned_for_copies), "product of e4m3: its memory is aligned to 16 bytes");
    expects(instructions_of_current_gpu() == MatrixInstructions::wgmma, "product of e4m3: needs wgmma");
}

/// Of rows of `row_bytes`, in copies of `box_rows` times 128 bytes. The copy engine only moves: two values of e4m3 are
/// one of bf16 to it.
CUtensorMap map_of(const void* matrix, std::uint32_t rows, std::uint64_t row_bytes, std::uint32_t box_rows) {
    const TensorAxis axes[] = {{row_bytes / 2, 0, gemm::step_depth}, {rows, row_bytes, box_rows}};
    return make_tensor_map(Precision::bf16, matrix, axes);
}

}  // namespace

Fp8Gemm::Fp8Gemm(const GemmShape& shape, const Fp8GemmMemory& memory, const GemmOptions& options)
    : shape_(shape), memory_(memory), chained_(options.chained), range_(options.range) {
    check_product(shape, memory);
    const std::uint32_t multiprocessors =
        options.multiprocessors == 0 ? count_multiprocessors() : options.multiprocessors;
    tile_number_ = options.tile ? *options.tile : choose_fp8_tile(shape, multiprocessors);
    const Fp8Kernel& kernel = fp8_kernel(tile_number_);
    if (shape.rows == 0) {
        return;
    }
    const GemmTile& tile = kernel.tile;
    const std::uint64_t out_bytes = std::uint64_t{2} * shape.columns;
    a_map_ = map_of(memory.a, shape.rows, shape.depth, tile.rows / tile.cluster_columns);
    b_map_ = map_of(memory.b, shape.columns, shape.depth, tile.columns / tile.cluster_rows);
    out_map_ = map_of(memory.out, shape.rows, out_bytes, gemm::box_rows);
    residual_map_ =
        memory.residual == nullptr ? out_map_ : map_of(memory.residual, shape.rows, out_bytes, gemm::box_rows);
    const std::uint32_t cluster = tile.cluster_rows * tile.cluster_columns;
    clusters_ =
        std::min(count_clusters(reinterpret_cast<const void*>(kernel.function),
                                {.blocks = cluster, .threads = kernel.threads, .shared_bytes = kernel.shared_bytes}),
                 std::max(multiprocessors / cluster, 1U));
}

void Fp8Gemm::enqueue(cudaStream_t stream) const {
    if (shape_.rows == 0) {
        return;
    }
    const Fp8Kernel& kernel = fp8_kernel(tile_number_);
    const GemmTile& tile = kernel.tile;
    const std::uint32_t cluster = tile.cluster_rows * tile.cluster_columns;
    const std::uint32_t tile_rows = divide_up(shape_.rows, tile.rows * tile.cluster_rows);
    const std::uint32_t tile_columns = divide_up(shape_.columns, tile.columns * tile.cluster_columns);
    const auto clusters =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{tile_rows} * tile_columns, clusters_));
    const gemm::Arguments arguments{
        .bias = memory_.bias,
        .active = memory_.active,
        .range = range_,
        .columns = shape_.columns,
        .steps = divide_up(shape_.depth, gemm::step_bytes),
        .tile_rows = tile_rows,
        .tile_columns = tile_columns,
        .group_rows = gemm_group_rows(tile, tile_rows, clusters),
        .activation = shape_.activation,
        .residual = memory_.residual != nullptr,
        .chained = chained_,
        .row_scales = memory_.a_scales,
        .rows = shape_.rows,
    };
    launch(kernel.function, "product of e4m3",
           {.blocks = clusters * cluster,
            .threads = kernel.threads,
            .shared_bytes = kernel.shared_bytes,
            .chained = chained_},
           stream, a_map_, b_map_, out_map_, residual_map_, arguments, memory_.b_scales);
}

std::string Fp8Gemm::path() const {
    return "wgmma e4m3 " + describe(fp8_gemm_tiles[tile_number_]);
}

}  // namespace sluice

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/decoder/product/epilogue.cuh"
#include "kernels/cuda/decoder/product/kernels.hpp"
#include "kernels/cuda/decoder/product/parts.cuh"
#include "kernels/cuda/decoder/product/rows.cuh"
#include "kernels/cuda/gemm/make_kernel.cuh"
#include "kernels/cuda/primitives/half_values.hpp"

/// Products of operands in two parts of fp16. Per chunk of depth the kernel multiplies the small products first,
/// remainders by first parts, then first parts by first parts; the chunk's sums are added to the tile's, in another set
/// of registers: the tensor cores truncate their sums to 24 bits, which would show after some thousand products.
namespace sluice::decoder {
namespace {

constexpr std::uint32_t part_chunk_steps = 4;  // 256 of depth; with 512, sums would err twice as much as in fp32

struct HalfPartProducts {
    template <class Copy>
    __device__ __forceinline__ static void each_step(std::uint32_t steps, const Copy& copy, int row, int column) {
        for (std::uint32_t first = 0; first < steps; first += part_chunk_steps) {
            const std::uint32_t end = min(first + part_chunk_steps, steps);
            for (int product = 0; product < 3; ++product) {
                for (std::uint32_t step = first; step < end; ++step) {
                    copy(step, product == 0 ? 1 : 0, product == 1 ? 1 : 0, row, column);
                }
            }
        }
    }

    template <class C, class Epilogue>
    __device__ __forceinline__ static void consume(const gemm::Arguments& arguments, gemm::StepLoader<C>& loader,
                                                   Epilogue& epilogue) {
        static_assert(C::blocks == 1 && !C::ping_pong);
        const auto add = [&](gemm::Sums<C>& sums, std::uint32_t steps) {
            loader.begin();
            gemm::multiply_steps<__half, C>(sums, loader, steps);
            wgmma::wait<0>();
            loader.end();
        };
        for (gemm::Tiles<C> tiles(arguments); tiles.any(); tiles.next()) {
            gemm::Sums<C> all;
            epilogue.begin(all, static_cast<std::uint32_t>(tiles.row()), static_cast<std::uint32_t>(tiles.column()));
            for (std::uint32_t first = 0; first < arguments.steps; first += part_chunk_steps) {
                const std::uint32_t steps = min(part_chunk_steps, arguments.steps - first);
                gemm::Sums<C> sums = {};
                add(sums, 2 * steps);
#pragma unroll
                for (float& sum : sums[0]) {
                    sum *= 1 / half_rest_scale;
                }
                add(sums, steps);
#pragma unroll
                for (std::uint32_t i = 0; i < C::columns / 2; ++i) {
                    all[0][i] += sums[0][i];
                }
            }
            epilogue.store(all);
            if constexpr (C::cluster > 1) {
                if (tiles.last()) {
                    ptx::synchronize_cluster_apart();  // no block arrives at the barriers of one that has exited
                }
            }
        }
    }
};

/// 128 by 192 in clusters of two rows of tiles: a thread has two sets of 96 sums.
FloatProductKernels make_half_part_products() {
    using C = gemm::Config<2, 1, 192, 5, 1, 2, 1>;
    const auto values = make_part_product<C, HalfPartProducts, BatchedEpilogue<C, true>>();
    using OfFew = TileOfFewRows;
    const auto of_few = make_part_product<OfFew, HalfPartProducts, BatchedEpilogue<OfFew, true>>();
    return {.values = values,
            .parts = values,
            .scores = make_part_product<C, HalfPartProducts, ScoresEpilogue<C>>(),
            .bests = make_part_product<C, HalfPartProducts, BestsEpilogue<C>>(),
            .bests_and_sums = make_part_product<C, HalfPartProducts, BestsAndSumsEpilogue<C>>(),
            .score_sums = make_part_product<C, HalfPartProducts, ScoreSumsEpilogue<C>>(),
            .both_sums = make_part_product<C, HalfPartProducts, BothSumsEpilogue<C>>(),
            .few_values = of_few,
            .few_parts = of_few};
}

}  // namespace

const FloatProductKernels& half_part_float_product() {
    static const FloatProductKernels kernels = make_half_part_products();
    return kernels;
}

}  // namespace sluice::decoder

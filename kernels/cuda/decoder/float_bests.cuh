#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/best.cuh"
#include "kernels/cuda/decoder/block.cuh"
#include "kernels/cuda/decoder/float_kernel.hpp"
#include "kernels/cuda/gemm/layout.cuh"

namespace sluice::decoder {

/// Stores the two largest sums of each row of a tile. Of 64 rows' sums a thread has, in each of two rows, eight apart,
/// two of every eight columns.
template <class C>
class BestsEpilogue {
public:
    using Target = FloatProductArguments;

    __device__ __forceinline__ static void prepare(const Target&, const gemm::Layout<C>&) {}

    __device__ __forceinline__ BestsEpilogue(const gemm::Arguments& arguments, const Target& floats,
                                             const gemm::Layout<C>&, std::uint32_t consumer)
        : arguments_(arguments),
          floats_(floats),
          lane_(threadIdx.x % warp_lanes),
          first_row_((C::ping_pong ? 0 : consumer) * C::blocks * gemm::product_rows +
                     threadIdx.x % gemm::warpgroup_threads / warp_lanes * 16 + lane_ / 4) {}

    __device__ __forceinline__ void begin(gemm::Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        row_ = row + first_row_;
        column_ = column;
        gemm::begin_at_zero<C>(sums);
    }

    __device__ __forceinline__ void store(const gemm::Sums<C>& sums) const {
#pragma unroll
        for (std::uint32_t block = 0; block < C::blocks; ++block) {
            store_block(sums[block], row_ + block * gemm::product_rows);
        }
    }

    __device__ __forceinline__ void finish() const {}

private:
    __device__ __forceinline__ void store_block(const float (&sums)[C::columns / 2], std::uint32_t row) const {
        const std::uint32_t rows = *arguments_.active;
#pragma unroll
        for (std::uint32_t i = 0; i < 2; ++i) {
            BestTwo found;
            bool finite = true;
#pragma unroll
            for (std::uint32_t j = 0; j < C::columns / 8; ++j) {
#pragma unroll
                for (std::uint32_t two = 0; two < 2; ++two) {
                    const float value = sums[4 * j + 2 * i + two];
                    const std::uint32_t at = column_ + 8 * j + lane_ % 4 * 2 + two;
                    if (at < arguments_.columns) {
                        finite = finite && isfinite(value);
                        found.look_at_next(value, at);
                    }
                }
            }
#pragma unroll
            for (std::uint32_t apart = 1; apart <= 2; apart *= 2) {
                found.join(found.of_lane(apart));
                finite = __shfl_xor_sync(every_lane, finite ? 1 : 0, apart) != 0 && finite;
            }
            const std::uint32_t of_row = row + 8 * i;
            if (lane_ % 4 == 0 && of_row < rows) {
                floats_.bests[std::size_t{of_row} * floats_.best_tiles + column_ / C::columns] = {
                    found.best.score, found.best.place | (finite ? 0 : nonfinite_mark), found.second};
            }
        }
    }

    const gemm::Arguments& arguments_;
    const Target& floats_;
    std::uint32_t lane_;
    std::uint32_t first_row_;  // the thread's, in a tile
    std::uint32_t row_ = 0;
    std::uint32_t column_ = 0;
};

}  // namespace sluice::decoder

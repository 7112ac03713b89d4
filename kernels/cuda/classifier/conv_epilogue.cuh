#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/classifier/conv_loader.cuh"
#include "kernels/cuda/classifier/conv_store.cuh"
#include "kernels/cuda/gemm/layout.cuh"
#include "kernels/cuda/primitives/ptx.cuh"
#include "kernels/cuda/primitives/ptx_sm90a.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice::conv {

/// Epilogue of a convolution in gemm/'s kernel.
template <class Type, bool relu, class C>
class Epilogue {
public:
    using Target = conv::Target;

    __device__ __forceinline__ static void prepare(const Target&, const Layout<C>&) {}

    __device__ __forceinline__ Epilogue(const gemm::Arguments& arguments, const Target& target, const Layout<C>& layout,
                                        std::uint32_t consumer)
        : target_(target),
          layout_(layout),
          box_(layout.box(consumer * gemm::warps_per_warpgroup + warp())),
          consumer_(consumer) {
        const std::uint32_t first = consumer * C::product_columns + threadIdx.x % gemm::warpgroup_threads;
        for (std::uint32_t i = first; i < arguments.columns; i += C::columns) {
            ptx::store_shared(layout.bias(i), __ldg(arguments.bias + i));
        }
        ptx::synchronize_warpgroup(consumer);  // the bias of its own columns, which no other warpgroup reads
    }

    /// Computes the rows' destinations here, hidden by the products.
    __device__ __forceinline__ void begin(gemm::Sums<C>& sums, std::uint32_t row, std::uint32_t column) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t first = row + warp() * warp_rows + lane % warp_rows;
        first_two_ = target_.rows.place_of(first + lane / warp_rows * gemm::product_rows);
        third_ = C::pooled ? ConvRows::nowhere : target_.rows.place_of(first + 2 * gemm::product_rows);
        column_ = column + consumer_ * C::product_columns;
        if constexpr (in_two_parts<Type>) {
            gemm::begin_at_zero<C>(sums);
        } else {
            begin_with(sums, layout_.bias(column_));
        }
    }

    __device__ __forceinline__ void store(gemm::Sums<C>& sums) const {
        if constexpr (C::pooled) {
            take_largest(sums);
        }
#pragma unroll
        for (std::uint32_t m = 0; m < (C::pooled ? 1 : C::blocks); ++m) {
            if constexpr (std::is_same_v<Type, wgmma::Tf32>) {
                store_tf32<relu>(target_, sums[m], place_of(m), column_);
            } else if constexpr (in_two_parts<Type>) {
                store_in_parts<relu>(target_, sums[m], place_of(m), column_, layout_.bias(column_));
            } else {
                store_narrow(sums[m], place_of(m));
            }
        }
    }

    __device__ __forceinline__ void finish() const {}

private:
    __device__ __forceinline__ static std::uint32_t warp() {
        return threadIdx.x % gemm::warpgroup_threads / 32;
    }

    /// Of product m, in lane l: the destination of this warp's row l % 16.
    __device__ __forceinline__ std::uint32_t place_of(std::uint32_t m) const {
        const std::uint32_t lane = threadIdx.x % warp_rows + (m == 1 ? warp_rows : 0);
        return __shfl_sync(~0U, m == 2 ? third_ : first_two_, static_cast<int>(lane));
    }

    __device__ __forceinline__ void store_narrow(const float (&sums)[C::product_columns / 2],
                                                 std::uint32_t place) const {
        const std::uint32_t row = threadIdx.x % warp_rows;
        const std::uint32_t unit = threadIdx.x % 32 / warp_rows;
#pragma unroll
        for (std::uint32_t first = 0; first < C::product_columns; first += narrow_columns) {
#pragma unroll
            for (std::uint32_t n = 0; n < row_units; n += 2) {
                const float* const s = sums + first / 2 + n * 4;
                ptx::store_matrices(box_ + unit_at(row, n + unit), values::pack<Type, relu>(s[0], s[1]),
                                    values::pack<Type, relu>(s[2], s[3]), values::pack<Type, relu>(s[4], s[5]),
                                    values::pack<Type, relu>(s[6], s[7]));
            }
            __syncwarp();
            store_box<Type>(target_, place, column_ + first, box_);
            __syncwarp();
        }
    }

    const Target& target_;
    Layout<C> layout_;
    std::uint32_t box_;
    std::uint32_t consumer_;
    std::uint32_t column_ = 0;
    std::uint32_t first_two_ = 0;  // lane l: row l % 16 of product l / 16
    std::uint32_t third_ = 0;      // row l % 16 of product 2
};

}  // namespace sluice::conv

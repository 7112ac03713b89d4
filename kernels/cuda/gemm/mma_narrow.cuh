#pragma once

#include <array>

#include "kernels/cuda/gemm/mma_product.cuh"
#include "kernels/cuda/gemm/mma_store.cuh"
#include "kernels/cuda/gemm/mma_tiles.cuh"
#include "kernels/cuda/primitives/values.cuh"

namespace sluice::gemm {

/// For each of mma_tiles.
using MmaNarrowKernels = std::array<MmaKernel<NarrowTarget>, mma_tiles.size()>;
/// For each of unaligned_tiles.
using MmaUnalignedKernels = std::array<MmaKernel<NarrowTarget>, unaligned_tiles.size()>;

template <Precision precision, class C>
MmaKernel<NarrowTarget> make_narrow_kernel() {
    return make_mma_kernel<precision, C, NarrowStore<values::Narrow<precision>, C>>();
}

template <Precision precision>
MmaNarrowKernels make_narrow_kernels() {
    static_assert(is_mma_tile<Mma128x256>(mma_tiles[0]) && is_mma_tile<Mma128x128>(mma_tiles[1]) &&
                  is_mma_tile<Mma64x64>(mma_tiles[2]));
    return {make_narrow_kernel<precision, Mma128x256>(), make_narrow_kernel<precision, Mma128x128>(),
            make_narrow_kernel<precision, Mma64x64>()};
}

// One source file each: they take long to compile.
[[nodiscard]] const MmaNarrowKernels& bf16_mma_kernels();
[[nodiscard]] const MmaNarrowKernels& fp16_mma_kernels();
[[nodiscard]] const MmaUnalignedKernels& unaligned_mma_kernels(Precision precision);

}  // namespace sluice::gemm

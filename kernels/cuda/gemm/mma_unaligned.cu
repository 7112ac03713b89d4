#include <array>

#include "kernels/cuda/gemm/mma_narrow.cuh"
#include "kernels/cuda/gemm/unaligned_kernel.cuh"

namespace sluice::gemm {
namespace {

template <Precision precision, class C>
MmaKernel<NarrowTarget> make_unaligned_kernel() {
    return {.function = &multiply_unaligned<precision, C>,
            .tile = {.rows = C::rows, .columns = C::columns},
            .threads = C::threads,
            .shared_bytes = unaligned_stages * C::stage_bytes,
            .blocks_of_shared = C::blocks};  // the rest is cache for what two units share
}

template <Precision precision>
MmaUnalignedKernels make_unaligned_kernels() {
    static_assert(is_mma_tile<Unaligned128x128>(unaligned_tiles[0]) && is_mma_tile<Unaligned64x64>(unaligned_tiles[1]));
    return {make_unaligned_kernel<precision, Unaligned128x128>(), make_unaligned_kernel<precision, Unaligned64x64>()};
}

}  // namespace

const MmaUnalignedKernels& unaligned_mma_kernels(Precision precision) {
    static const MmaUnalignedKernels bf16 = make_unaligned_kernels<Precision::bf16>();
    static const MmaUnalignedKernels fp16 = make_unaligned_kernels<Precision::fp16>();
    return precision == Precision::bf16 ? bf16 : fp16;
}

}  // namespace sluice::gemm

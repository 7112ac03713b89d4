#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/primitives/wgmma.cuh"

/// Products of 64 rows by 64 columns with the left operand in registers; see wgmma.cuh for the rest.
namespace sluice::wgmma {

/// d (64, 64) = a (64, 16) * b, added to d if it `adds`. Thread t of warp w of the warpgroup has d[4 j + i] at row 16 w
/// + t / 4 + 8 (i / 2), column 8 j + 2 (t % 4) + i % 2, and in a[i] two values of row 16 w + t / 4 + 8 (i % 2), from
/// column 8 (i / 2) + 2 (t % 4) on. In shared memory b has 64 rows of 32 bytes of k, or, `across`, 16 rows of 128
/// bytes.
template <class Type, bool across>
__device__ void multiply_registers(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b, bool adds);

// Asm takes only literals: these spell the accumulators out.
// clang-format off
#define SLUICE_SUMS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SLUICE_SUMS_32 SLUICE_SUMS_8(0), SLUICE_SUMS_8(8), SLUICE_SUMS_8(16), SLUICE_SUMS_8(24)
#define SLUICE_NAMES "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define SLUICE_WGMMA(type, types, is_across, layout) \
    template <> \
    __device__ __forceinline__ void multiply_registers<type, is_across>(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b, bool adds) { \
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %37, 0;\n" \
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32." types " " SLUICE_NAMES ", {%32, %33, %34, %35}, %36, p, 1, 1, " layout ";\n}" \
                     : SLUICE_SUMS_32 \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<std::uint32_t>(adds))); \
    }

SLUICE_WGMMA(__nv_bfloat16, "bf16.bf16", false, "0")
SLUICE_WGMMA(__nv_bfloat16, "bf16.bf16", true, "1")
SLUICE_WGMMA(__half, "f16.f16", false, "0")
SLUICE_WGMMA(__half, "f16.f16", true, "1")
// clang-format on

/// The computation of `d` before this in the program comes before what is after it, and the other way round: on one
/// side there is a wait.
__device__ __forceinline__ void order(float (&d)[32]) {
    asm volatile("" : SLUICE_SUMS_32);
}

#undef SLUICE_WGMMA
#undef SLUICE_NAMES
#undef SLUICE_SUMS_32
#undef SLUICE_SUMS_8

}  // namespace sluice::wgmma

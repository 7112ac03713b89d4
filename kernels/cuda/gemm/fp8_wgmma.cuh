#pragma once

#include <cstdint>

#include "kernels/cuda/primitives/wgmma.cuh"
#include "kernels/cuda/primitives/wgmma_wide.cuh"

/// Products of e4m3; a row of 128 bytes is 128 of depth.
namespace sluice::wgmma {

/// d (64, columns) = a (64, 32 of k) * b (columns, 32 of k)^T, plus the old d if `add`. For d's layout see multiply()
/// in wgmma_wide.cuh. The tensor cores keep about 14 bits of such sums.
template <int columns>
__device__ void multiply_e4m3(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b, bool add);

// Asm takes only literals: these spell the accumulators out.
// clang-format off
#define SLUICE_SUMS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SLUICE_SUMS_32(i) SLUICE_SUMS_8(i), SLUICE_SUMS_8(i + 8), SLUICE_SUMS_8(i + 16), SLUICE_SUMS_8(i + 24)
#define SLUICE_NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SLUICE_NAMES_1 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SLUICE_NAMES_2 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"

#define SLUICE_WGMMA(columns, names, operands, add_name, ...) \
    template <> \
    __device__ __forceinline__ void multiply_e4m3<columns>(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b, bool add) { \
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, " add_name ", 0;\n" \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.f32.e4m3.e4m3 {" names "}, " operands ", p, 1, 1;\n}" \
                     : __VA_ARGS__ \
                     : "l"(a), "l"(b), "r"(add ? 1U : 0U)); \
    }

SLUICE_WGMMA(64, SLUICE_NAMES_0, "%32, %33", "%34", SLUICE_SUMS_32(0))
SLUICE_WGMMA(128, SLUICE_NAMES_0 ", " SLUICE_NAMES_1, "%64, %65", "%66", SLUICE_SUMS_32(0), SLUICE_SUMS_32(32))
SLUICE_WGMMA(192, SLUICE_NAMES_0 ", " SLUICE_NAMES_1 ", " SLUICE_NAMES_2, "%96, %97", "%98", SLUICE_SUMS_32(0), SLUICE_SUMS_32(32), SLUICE_SUMS_32(64))

#undef SLUICE_WGMMA
#undef SLUICE_NAMES_0
#undef SLUICE_NAMES_1
#undef SLUICE_NAMES_2
#undef SLUICE_SUMS_32
#undef SLUICE_SUMS_8
// clang-format on

struct E4m3 {};

/// As in wgmma_wide.cuh, of e4m3.
template <>
__device__ __forceinline__ void multiply<E4m3, 64>(float (&d)[32], std::uint64_t a, std::uint64_t b) {
    multiply_e4m3<64>(d, a, b, true);
}
template <>
__device__ __forceinline__ void multiply<E4m3, 128>(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    multiply_e4m3<128>(d, a, b, true);
}
template <>
__device__ __forceinline__ void multiply<E4m3, 192>(float (&d)[96], std::uint64_t a, std::uint64_t b) {
    multiply_e4m3<192>(d, a, b, true);
}

}  // namespace sluice::wgmma

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/primitives/wgmma.cuh"

/// Products of 64 rows by 64, 128, 192 or 256 columns; see wgmma.cuh for the rest.
namespace sluice::wgmma {

/// d (64, columns) += a (64, 32 bytes of k) * b (columns, 32 bytes of k)^T. Thread t of warp w of the warpgroup has d[4
/// j + i] at row 16 w + t / 4 + 8 (i / 2), column 8 j + 2 (t % 4) + i % 2.
template <class Type, int columns>
__device__ void multiply(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b);

// Asm takes only literals: these spell the accumulators out.
// clang-format off
#define SLUICE_SUMS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SLUICE_SUMS_32(i) SLUICE_SUMS_8(i), SLUICE_SUMS_8(i + 8), SLUICE_SUMS_8(i + 16), SLUICE_SUMS_8(i + 24)
#define SLUICE_NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SLUICE_NAMES_1 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SLUICE_NAMES_2 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SLUICE_NAMES_3 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define SLUICE_WGMMA(type, depth, types, layouts, columns, names, last_two, ...) \
    template <> \
    __device__ __forceinline__ void multiply<type, columns>(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b) { \
        asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 1, 1;\n" \
                     "wgmma.mma_async.sync.aligned.m64n" #columns depth ".f32." types " {" names "}, " last_two ", p, 1, 1" layouts ";\n}" \
                     : __VA_ARGS__ \
                     : "l"(a), "l"(b)); \
    }
#define SLUICE_WGMMA_OF_ALL(columns, names, last_two, ...) \
    SLUICE_WGMMA(__nv_bfloat16, "k16", "bf16.bf16", ", 0, 0", columns, names, last_two, __VA_ARGS__) \
    SLUICE_WGMMA(__half, "k16", "f16.f16", ", 0, 0", columns, names, last_two, __VA_ARGS__) \
    SLUICE_WGMMA(Tf32, "k8", "tf32.tf32", "", columns, names, last_two, __VA_ARGS__)

SLUICE_WGMMA_OF_ALL(64, SLUICE_NAMES_0, "%32, %33", SLUICE_SUMS_32(0))
SLUICE_WGMMA_OF_ALL(128, SLUICE_NAMES_0 ", " SLUICE_NAMES_1, "%64, %65", SLUICE_SUMS_32(0), SLUICE_SUMS_32(32))
SLUICE_WGMMA_OF_ALL(192, SLUICE_NAMES_0 ", " SLUICE_NAMES_1 ", " SLUICE_NAMES_2, "%96, %97", SLUICE_SUMS_32(0), SLUICE_SUMS_32(32), SLUICE_SUMS_32(64))
SLUICE_WGMMA_OF_ALL(256, SLUICE_NAMES_0 ", " SLUICE_NAMES_1 ", " SLUICE_NAMES_2 ", " SLUICE_NAMES_3, "%128, %129", SLUICE_SUMS_32(0), SLUICE_SUMS_32(32), SLUICE_SUMS_32(64), SLUICE_SUMS_32(96))

#undef SLUICE_WGMMA_OF_ALL
#undef SLUICE_WGMMA
#undef SLUICE_NAMES_0
#undef SLUICE_NAMES_1
#undef SLUICE_NAMES_2
#undef SLUICE_NAMES_3
#undef SLUICE_SUMS_32
#undef SLUICE_SUMS_8
// clang-format on

}  // namespace sluice::wgmma

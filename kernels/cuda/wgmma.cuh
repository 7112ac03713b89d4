#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

/// Products by a warpgroup: four warps, from a warp number that four divides, all in step.
namespace sluice::wgmma {

/// A matrix in shared memory with rows of 128 bytes, swizzled: where 16-byte piece c of a row lies is c ^ (address /
/// 128 % 8), as the copy engine writes it. The address of its first row is a multiple of 128; the pattern's phase comes
/// from the address itself, so that a matrix may begin at any row.
__device__ __forceinline__ std::uint64_t matrix(std::uint32_t address) {
    constexpr std::uint64_t eight_rows = 1024 >> 4;
    constexpr std::uint64_t swizzle_128 = 1;
    return std::uint64_t{(address & 0x3ffffU) >> 4} | std::uint64_t{1} << 16 | eight_rows << 32 | swizzle_128 << 62;
}

/// What to add to a matrix to begin `bytes` later.
__device__ __forceinline__ constexpr std::uint64_t advance(std::uint32_t bytes) {
    return bytes >> 4;
}

/// Before the first product that touches registers used otherwise.
__device__ __forceinline__ void fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Until at most `pending` committed groups are unfinished.
template <int pending>
__device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

struct Tf32 {};

/// d (64, 128) += a (64, 32 bytes of k) * b (128, 32 bytes of k)^T. Thread t of warp w of the warpgroup
/// has d[4 j + i] at row 16 w + t / 4 + 8 (i / 2), column 8 j + 2 (t % 4) + i % 2.
template <class Type>
__device__ void multiply(float (&d)[64], std::uint64_t a, std::uint64_t b);

// Asm takes no text but literals.
#define SLUICE_WGMMA(instruction, scales_and_layouts)                                                                 \
    asm volatile(                                                                                                     \
        "{\n"                                                                                                         \
        ".reg .pred p;\n"                                                                                             \
        "setp.eq.u32 p, 1, 1;\n"                                                                                      \
        "wgmma.mma_async.sync.aligned." instruction                                                                   \
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                    \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                            \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                            \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "                           \
        "%64, %65, p, " scales_and_layouts ";\n}"                                                                     \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),      \
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),     \
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),     \
          "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),     \
          "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),     \
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),     \
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])                   \
        : "l"(a), "l"(b))

template <>
__device__ __forceinline__ void multiply<__nv_bfloat16>(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    SLUICE_WGMMA("m64n128k16.f32.bf16.bf16", "1, 1, 0, 0");
}

template <>
__device__ __forceinline__ void multiply<__half>(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    SLUICE_WGMMA("m64n128k16.f32.f16.f16", "1, 1, 0, 0");
}

template <>
__device__ __forceinline__ void multiply<Tf32>(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    SLUICE_WGMMA("m64n128k8.f32.tf32.tf32", "1, 1");
}

#undef SLUICE_WGMMA

}  // namespace sluice::wgmma

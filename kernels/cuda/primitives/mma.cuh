#pragma once

#include <cstdint>

#include "kernels/cuda/primitives/precision.hpp"

/// Products by a warp from its registers (mma.sync), and loads of their operands. PTX ISA 7.0, sm_80.
namespace sluice::mma {

/// Loads four matrices of 8 rows of 16 bytes from shared memory. Lane l passes the address of row l % 8 of matrix l / 8
/// and receives word l % 4 of row l / 4 of each.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

/// The same, each transposed: lane l receives of each the values 2 (l % 4) and 2 (l % 4) + 1 of column l / 4.
__device__ __forceinline__ void load_matrices_across(std::uint32_t (&to)[4], std::uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

/// d (16, 8) += a (16, 32 bytes of k) * b (8, 32 bytes of k)^T. Lane l has d[2 i + j] at row l / 4 + 8 i, column
/// 2 (l % 4) + j; in a[2 h + i], word l % 4 of half h of k of row l / 4 + 8 i; in b<h>, the same of row l / 4.
template <Precision precision>
__device__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

template <>
__device__ __forceinline__ void multiply<Precision::bf16>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                          std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void multiply<Precision::fp16>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                          std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Reads the upper 19 bits of each value only: round operands first.
template <>
__device__ __forceinline__ void multiply<Precision::tf32>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                          std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace sluice::mma
